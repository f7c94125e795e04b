"""Puts the front door together."""

from collections.abc import Callable, Mapping
from functools import cache

from flask import Flask, Response
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from web.admission import Admission
from web.answer import Era
from web.body import BodyReader
from web.calls import Calls
from web.companions import companions
from web.connections import ConnectionsOfProcess
from web.dispatch import Dispatch, Method
from web.endpoint import PATHS, endpoint
from web.front_door import FrontDoor
from web.guards import Doorkeeper
from web.health import health
from web.home import home
from web.in_flight import InFlight
from web.jobs import Jobs
from web.legacy import REVISIONS, OlderEra
from web.methods.discover import Discover
from web.methods.subscriptions import Subscriptions
from web.methods.tasks import Tasks
from web.methods.tools import CallTool, ListTools
from web.metrics import LIMITS, ClientNames, Measured, metrics
from web.sealed import Sealer
from web.settings import Settings
from workers.catalogue import load_catalogue
from workers.tool import Catalogue


def create_app(settings: Settings) -> Flask:
    """The front door as a WSGI application. Nothing is connected before the first request.

    Raises:
        ToolModuleError, ToolFileError, ToolDefinitionError: a tool cannot be offered as it is.
        InvalidSettings: tokens cannot be read.
    """
    catalogue = load_catalogue(settings.workers)
    connections = ConnectionsOfProcess(settings, catalogue)
    admission = Admission(settings, catalogue, connections)
    jobs = Jobs(connections, catalogue, admission.limits)
    calls = Calls(settings, connections, jobs)
    sealer = Sealer(_secret(settings, connections), settings.web.state_ms // 1000)
    tasks = Tasks(connections, jobs, admission.scopes, admission.limits)
    more = companions(catalogue, settings, connections, jobs, calls, admission.scopes, admission.limits)
    offered = Catalogue([*catalogue, *more])
    lists = ListTools(offered, settings.web.page_size, admission.cache_scope, admission.scopes.may_use)
    methods: Mapping[str, Method] = {
        "server/discover": Discover(settings.web.instructions, admission.cache_scope).discover,
        "tools/list": lists.list,
        "tools/call": CallTool(offered, settings, connections, jobs, calls, sealer).call,
        "tasks/get": tasks.get,
        "tasks/update": tasks.update,
        "tasks/cancel": tasks.cancel,
        "subscriptions/listen": Subscriptions(
            connections, admission.scopes, admission.limits, settings.workers.server_info
        ).listen,
    }

    def count_limit(limit: str) -> None:
        connections.measures.count(LIMITS, limit)

    older = tuple(REVISIONS) if settings.web.legacy else ()
    dispatch = Dispatch(
        methods,
        settings.workers.server_info,
        admission.admit,
        count_limit,
        older,
        requires_task_name=settings.web.require_task_name,
        count_nameless=ClientNames(connections).count,
    )
    others: list[Era] = []
    if settings.web.legacy:
        others.append(OlderEra(offered, settings, connections, admission, jobs, calls, lists, count_limit))
    app = FrontDoor("coatcheck")
    app.url_map.strict_slashes = True
    app.url_map.redirect_defaults = False
    app.url_map.merge_slashes = False
    in_flight = InFlight()
    bodies = BodyReader(settings.web.max_body_bytes, settings.web.body_ms / 1000, in_flight)
    doorkeeper = Doorkeeper(settings.web)
    app.serve(PATHS, endpoint(dispatch, others, doorkeeper, admission.caller_of, bodies, in_flight))
    app.register_blueprint(health(connections))
    app.register_blueprint(metrics(settings, catalogue, connections, doorkeeper))
    app.register_blueprint(home(settings.web, settings.workers.server_name, doorkeeper))
    if (metadata := admission.metadata()) is not None:
        app.register_blueprint(metadata)
    app.register_error_handler(HTTPException, _plain)
    app.extensions["coatcheck"] = connections
    app.wsgi_app = Measured(app.wsgi_app, connections, methods)  # type: ignore[method-assign]
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
        response.allow.update(fault.valid_methods or [])
    return response
