"""Reads a request's body within bounds of size and time."""

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from flask import Request
from gunicorn.http.errors import ParseException

from web.errors import BodyTooLarge, BodyTooSlow, MalformedBody
from web.server.arrival import TOO_LARGE

SOCKET: Final = "gunicorn.socket"
"""Where gunicorn leaves the connection in the WSGI environment."""

LOOK_S: Final = 1.0
"""The pause between two looks for bodies that are overdue."""


class BodyReader:
    """Reads bodies; one that drips is cut off, because a thread that reads it serves nobody else.

    gunicorn's threads have no time limit of their own. A socket's own timeout bounds each piece, not the whole, so one
    thread of this process shuts overdue connections.
    """

    def __init__(self, max_bytes: int, limit_s: float) -> None:
        self._max_bytes = max_bytes
        self._limit_s = limit_s
        self._reading: dict[socket.socket, float] = {}
        self._lock = threading.Lock()
        self._watcher: threading.Thread | None = None

    def read(self, request: Request) -> bytes:
        """The whole body.

        Raises:
            BodyTooLarge: it says so itself, or more came than is allowed; the rest is not read.
            BodyTooSlow: it was cut off, by the client or for its slowness.
            MalformedBody: its chunks are none; no other request can follow on its connection.
        """
        length = request.content_length
        if request.environ.get(TOO_LARGE) or (length is not None and length > self._max_bytes):
            raise self._too_large()
        body = self._read(request.environ, self._max_bytes + 1 if length is None else length)
        if len(body) > self._max_bytes:
            raise self._too_large()
        if length is not None and len(body) < length:
            # Half a message can be a whole one of another meaning.
            raise BodyTooSlow("The body did not arrive whole in time")
        return body

    def _too_large(self) -> BodyTooLarge:
        return BodyTooLarge(f"The body is larger than {self._max_bytes} bytes")

    def _read(self, environ: Mapping[str, Any], most: int) -> bytes:
        try:
            with self._in_time(environ.get(SOCKET)):
                body: bytes = environ["wsgi.input"].read(most)
        except OSError as fault:
            raise BodyTooSlow("The body did not arrive whole in time") from fault
        except ParseException as fault:
            # gunicorn reads chunks as the body is read, and says so then.
            raise MalformedBody("The chunks of the body, or its trailers, are malformed") from fault
        return body

    @contextmanager
    def _in_time(self, connection: socket.socket | None) -> Iterator[None]:
        if connection is None:
            yield
            return
        self._reading[connection] = time.monotonic() + self._limit_s
        if self._watcher is None:
            self._start()
        try:
            yield
        finally:
            self._reading.pop(connection, None)

    def _start(self) -> None:
        with self._lock:
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch, name="coatcheck-bodies", daemon=True)
                self._watcher.start()

    def _watch(self) -> None:
        while True:
            time.sleep(LOOK_S)
            now = time.monotonic()
            for connection, deadline in list(self._reading.items()):
                if deadline < now and self._reading.pop(connection, 0.0):
                    shut(connection)


def shut(connection: socket.socket) -> None:
    """Nothing more is read from the connection."""
    try:
        connection.shutdown(socket.SHUT_RD)
    except OSError:
        return  # the client was faster
