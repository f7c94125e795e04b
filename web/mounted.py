"""The front door as a part of another WSGI application."""

import atexit
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from flask import Blueprint, Request, Response, request

from coatcheck.settings_file import left_as_it_was
from coatcheck.tasks_store import arm, refuse_unfit_store
from coatcheck.variables import unknown_variables
from coatcheck.web.app import create_app
from coatcheck.web.auth.authenticator import Known
from coatcheck.web.errors import InvalidWebSettings
from coatcheck.web.rpc.endpoint import ENDPOINT_PATHS
from coatcheck.web.server.threads import is_cooperative
from coatcheck.web.settings.web import ServerSettings, read_settings

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

logger = logging.getLogger(__name__)

REQUEST: Final = "coatcheck.request"
"""Where a view leaves the request of its framework in the WSGI environment."""

METADATA: Final = "/.well-known/"
"""Begins the paths at which clients look for who gives tokens."""

METHODS: Final = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")


class Door:
    """The front door as a WSGI application, under any server: served alone, or mounted at a path by another one."""

    def __init__(self, owner: Known | None = None, *, waiting: int = 1) -> None:
        """`owner` tells who calls from the WSGI environment: tenant, principal and scopes, or None for a stranger.

        `waiting` is how many threads of a process calls that wait and streams can hold; fewer than the server has. It
        means nothing where gevent serves.

        Raises:
            InvalidWebSettings: the environment does not say how to serve.
            UnfitStore: the store could lose tasks.
            WorkersError: a tool cannot be offered as it is.
        """
        with left_as_it_was(os.environ):
            settings = _settings(owner, waiting)
            for unknown in unknown_variables(os.environ):
                logger.warning("%s", unknown)
        arm(settings.store.faults)
        refuse_unfit_store(settings.store)
        self._app = create_app(settings, owner)
        self._connections = self._app.extensions["coatcheck"]
        atexit.register(self._connections.close)

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        """The response: of the endpoint where the door is mounted, of its other pages below."""
        if environ.get("PATH_INFO", "") in ("", "/") and environ.get("SCRIPT_NAME"):
            return self.endpoint(environ, start_response)
        return self._serve(environ, start_response)

    def endpoint(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        """The response of the MCP endpoint, whatever the path."""
        if not environ.get("PATH_INFO", "").startswith(METADATA):
            environ = {**environ, "PATH_INFO": ENDPOINT_PATHS[0]}
        return self._serve(environ, start_response)

    def _serve(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        if not is_cooperative() and not environ["wsgi.multithread"]:
            self._connections().waiting.most = 0  # whoever waited would have the only thread
        return self._app(environ, start_response)


def _settings(owner: Known | None, waiting: int) -> ServerSettings:
    settings = read_settings()
    auth = settings.auth
    if owner is not None and auth.mode != "none":
        raise InvalidWebSettings(f"COATCHECK_AUTH is {auth.mode}, and `owner` tells who calls: leave one of them out")
    if owner is None and not auth.is_closed_to_strangers:
        raise InvalidWebSettings(
            "COATCHECK_AUTH is none, which lets everybody in: give `owner`, or set COATCHECK_AUTH, or"
            " COATCHECK_ALLOW_ANONYMOUS=true if something else guards the door"
        )
    return replace(
        settings,
        # Who can connect is not known here: pages for this machine alone are not served.
        web=replace(settings.web, host=""),
        auth=auth if owner is None else replace(auth, mode="function"),
        waiting_threads=None if is_cooperative() else waiting,
    )


def flask_blueprint(
    owner: Callable[[Request], tuple[str, str, Iterable[str] | None] | None] | None = None,
    *,
    path: str = ENDPOINT_PATHS[0],
    waiting: int = 1,
) -> Blueprint:
    """Return a blueprint with the MCP endpoint at this path; `owner` is given Flask's request. Otherwise as `Door`."""
    door = Door(None if owner is None else of_request(owner), waiting=waiting)
    blueprint = Blueprint("coatcheck", __name__)

    def serve() -> Any:
        real: Any = request._get_current_object()  # type: ignore[attr-defined]
        return Response.from_app(door.endpoint, {**request.environ, REQUEST: real})

    blueprint.add_url_rule(path, "mcp", serve, methods=METHODS, strict_slashes=False, provide_automatic_options=False)
    return blueprint


def of_request(owner: Callable[[Any], tuple[str, str, Iterable[str] | None] | None]) -> Known:
    """Return what gives the function the request of its framework."""

    def known(environ: Mapping[str, Any]) -> tuple[str, str, Iterable[str] | None] | None:
        return owner(environ[REQUEST])

    return known
