"""Puts the front door together."""

from collections.abc import Callable
from functools import cache

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from web.body import BodyReader
from web.connections import ConnectionsOfProcess
from web.dispatch import Dispatch
from web.endpoint import PATHS, endpoint
from web.guards import Doorkeeper
from web.health import health
from web.jobs import Jobs
from web.methods.discover import Discover
from web.methods.tasks import Tasks
from web.methods.tools import CallTool, ListTools
from web.sealed import Sealer
from web.settings import Settings
from workers.tool import Catalogue


def create_app(settings: Settings) -> Flask:
    """The front door as a WSGI application. Nothing is connected before the first request.

    Raises:
        ToolModuleError, ToolDefinitionError: a tool cannot be offered as it is.
    """
    catalogue = Catalogue.load(settings.workers.tools)
    connections = ConnectionsOfProcess(settings, catalogue)
    jobs = Jobs(connections, catalogue)
    sealer = Sealer(_secret(settings, connections), settings.web.state_ms // 1000)
    tasks = Tasks(connections, jobs)
    dispatch = Dispatch(
        {
            "server/discover": Discover(settings.web.instructions).discover,
            "tools/list": ListTools(catalogue, settings.web.page_size).list,
            "tools/call": CallTool(catalogue, settings, connections, jobs, sealer).call,
            "tasks/get": tasks.get,
            "tasks/update": tasks.update,
            "tasks/cancel": tasks.cancel,
        },
        settings.workers.server_info,
    )
    app = Flask("coatcheck", static_folder=None)
    app.url_map.strict_slashes = True
    app.url_map.redirect_defaults = False
    app.url_map.merge_slashes = False
    bodies = BodyReader(settings.web.max_body_bytes, settings.web.body_ms / 1000)
    app.register_blueprint(endpoint(dispatch, Doorkeeper(settings.web), bodies))
    app.register_blueprint(health(connections))
    app.register_error_handler(HTTPException, _plain)
    app.extensions["coatcheck"] = connections
    return app


def _secret(settings: Settings, connections: ConnectionsOfProcess) -> Callable[[], bytes]:
    """The secret that all web processes share; the store's is asked for once, by the first call that needs it."""
    if settings.web.secret_key:
        key = settings.web.secret_key.encode()
        return lambda: key

    def shared() -> bytes:
        return connections().store.secret()

    return cache(shared)


def _plain(fault: HTTPException) -> Response:
    """What no view answers is answered in one line of text."""
    response = Response(f"{fault.name}\n", fault.code, mimetype="text/plain")
    if isinstance(fault, MethodNotAllowed):
        response.allow.update(["POST"] if request.path in PATHS else fault.valid_methods or [])
    return response
