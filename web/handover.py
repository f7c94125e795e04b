"""A response that goes on after its request."""

import socket
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final

from flask import Response

from web.body import SOCKET
from web.events import HEADERS
from web.guards import EVENT_STREAM
from web.outlet import head

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

Begin = Callable[[socket.socket, bytes], None]
"""Takes the connection and the head of the response."""

NOTHING: Final = ()
"""What is left for gunicorn to send, on the stand-in for the connection that it had."""


class HandedOver(Response):
    """An event stream whose connection leaves the thread that accepted it."""

    automatically_set_content_length = False

    def __init__(self, begin: Begin) -> None:
        super().__init__(mimetype=EVENT_STREAM, headers=HEADERS)
        self._begin = begin

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        """The stream has begun; the thread is free."""
        headers = list(self.get_wsgi_headers(environ))
        self._begin(environ[SOCKET], head(self.status, headers))
        start_response(self.status, headers)
        return NOTHING
