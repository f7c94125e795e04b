"""Assemble the Flask application."""

from collections.abc import Callable, Mapping
from functools import cache

from flask import Flask, Response
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from coatcheck.web.access.access_policy import AccessPolicy
from coatcheck.web.auth.authenticator import Known
from coatcheck.web.legacy import REVISIONS, LegacyHandler
from coatcheck.web.methods.discover import Discover
from coatcheck.web.methods.subscriptions import Subscriptions
from coatcheck.web.methods.tasks import TaskMethods
from coatcheck.web.methods.tools import CallTool, ListTools
from coatcheck.web.operations.health import health
from coatcheck.web.operations.home import home
from coatcheck.web.operations.metrics import LIMITS_REACHED, ClientNameCounter, MetricsMiddleware, metrics
from coatcheck.web.protocol.request_guard import RequestGuard
from coatcheck.web.protocol.response import ProtocolHandler
from coatcheck.web.rpc.direct_flask import DirectFlask
from coatcheck.web.rpc.dispatch import Method, MethodDispatcher
from coatcheck.web.rpc.endpoint import ENDPOINT_PATHS, Endpoint
from coatcheck.web.server.body import BodyReader
from coatcheck.web.server.memory_limit import MemoryLimit
from coatcheck.web.settings.web import ServerSettings
from coatcheck.web.streams.connections import ConnectionsOfProcess
from coatcheck.web.task_tools.offer import task_tools
from coatcheck.web.tool_calls.calls import Calls
from coatcheck.web.tool_calls.jobs import Jobs
from coatcheck.web.tool_calls.request_state import StateSealer
from coatcheck.workers.toolkit.catalogue import load_catalogue
from coatcheck.workers.toolkit.tool import Catalogue


def create_app(settings: ServerSettings, known: Known | None = None) -> Flask:
    """Create the WSGI application. Nothing is connected before the first request.

    `known` identifies callers instead of a token.

    Raises:
        ToolModuleError, ToolFileError, ToolDefinitionError: a tool cannot be offered as it is.
        InvalidSettings: tokens cannot be read.
    """
    catalogue = load_catalogue(settings.workers)
    connections = ConnectionsOfProcess(settings, catalogue)
    access_policy = AccessPolicy(settings, catalogue, connections, known)
    jobs = Jobs(connections, catalogue, access_policy.limits)
    calls = Calls(settings, connections, jobs)
    sealer = StateSealer(_secret(settings, connections), settings.web.state_ms // 1000)
    tasks = TaskMethods(connections, jobs, access_policy)
    added_tools = task_tools(catalogue, settings, connections, calls, access_policy)
    offered = Catalogue([*catalogue, *added_tools])
    lists = ListTools(offered, settings.web.page_size, access_policy.cache_scope, access_policy.scopes.may_use)
    methods: Mapping[str, Method] = {
        "server/discover": Discover(settings.web.instructions, access_policy.cache_scope).discover,
        "tools/list": lists.list,
        "tools/call": CallTool(offered, settings, connections, calls, sealer).call,
        "tasks/get": tasks.get,
        "tasks/update": tasks.update,
        "tasks/cancel": tasks.cancel,
        "subscriptions/listen": Subscriptions(connections, access_policy, settings.workers.server_info).listen,
    }

    def count_limit(limit: str) -> None:
        connections.measures.count(LIMITS_REACHED, limit)

    legacy_revisions = tuple(REVISIONS) if settings.web.legacy else ()
    dispatch = MethodDispatcher(
        methods,
        settings.workers.server_info,
        access_policy.admit,
        count_limit,
        legacy_revisions,
        requires_task_name=settings.web.require_task_name,
        count_nameless=ClientNameCounter(connections).count,
    )
    legacy_handlers: list[ProtocolHandler] = []
    if settings.web.legacy:
        legacy_handlers.append(LegacyHandler(offered, settings, connections, access_policy, calls, lists, count_limit))
    app = DirectFlask("coatcheck")
    app.url_map.strict_slashes = True
    app.url_map.redirect_defaults = False
    app.url_map.merge_slashes = False
    memory = MemoryLimit()
    bodies = BodyReader(settings.web.max_body_bytes, settings.web.body_ms / 1000, memory)
    guard = RequestGuard(settings.web)
    app.serve(ENDPOINT_PATHS, Endpoint(dispatch, legacy_handlers, guard, access_policy.caller_of, bodies, memory))
    app.register_blueprint(health(connections))
    app.register_blueprint(metrics(settings, catalogue, connections, guard))
    app.register_blueprint(home(settings.web, settings.workers.server_name, guard))
    if (metadata := access_policy.metadata()) is not None:
        app.register_blueprint(metadata)
    app.register_error_handler(HTTPException, _plain)
    app.extensions["coatcheck"] = connections
    app.wsgi_app = MetricsMiddleware(app.wsgi_app, connections, methods)  # type: ignore[method-assign]
    return app


def _secret(settings: ServerSettings, connections: ConnectionsOfProcess) -> Callable[[], bytes]:
    """Return a function that gives the secret of all web processes; it reads the store's once, when first called."""
    if settings.web.secret_key:
        key = settings.web.secret_key.encode()
        return lambda: key

    def shared() -> bytes:
        return connections().store.secret()

    return cache(shared)


def _plain(fault: HTTPException) -> Response:
    """Answer an HTTP error of Flask's own routing with one line of text."""
    response = Response(f"{fault.name}\n", fault.code, mimetype="text/plain")
    if isinstance(fault, MethodNotAllowed):
        response.allow.update(fault.valid_methods or [])
    return response
