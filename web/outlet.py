"""A client's connection, taken over from gunicorn, and written without ever waiting for its reader.

A stream that costs a thread costs too much: a thousand of them share one thread (see web/streams.py), so a thousand
connections have to leave the threads that accepted them.
"""

import os
import socket
import ssl
import time
from collections.abc import Iterable
from typing import Final

from werkzeug.http import http_date

TAKE_S: Final = 30.0
"""How long a reader may take over what was written. Memory for one who does not read is held no longer."""

PROBE_S: Final = (15, 5, 3)
"""A silent peer is probed after so many seconds, then every so many, and is gone after so many probes."""


def can_take(connection: object) -> bool:
    """The connection is a plain one: a TLS session, or one of several streams on it, cannot change hands."""
    return isinstance(connection, socket.socket) and not isinstance(connection, ssl.SSLSocket)


def take(connection: socket.socket) -> socket.socket:
    """The connection, let go by gunicorn: it goes on with a stand-in, whose other end is closed.

    So gunicorn keeps its books as for any client that left, and closes the stand-in.
    """
    taken = connection.dup()
    stand_in, other = socket.socketpair()
    with stand_in, other:
        os.dup2(stand_in.fileno(), connection.fileno(), inheritable=False)
    return taken


def head(status: str, headers: Iterable[tuple[str, str]]) -> bytes:
    """The head of a response whose body ends with the connection, which every version of HTTP/1 understands.

    Source: RFC 9112, section 6.3.
    """
    lines = [f"{name}: {value}" for name, value in (*headers, ("Date", http_date()), ("Connection", "close"))]
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode("latin-1")


class Outlet:
    """One connection. Every method returns at once, and raises OSError when the client has left."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        if connection.family != socket.AF_UNIX:
            _watch_over(connection)
        self._connection = connection
        self._unsent = bytearray()
        self.written_at = time.monotonic()
        """When something was written last."""

    def fileno(self) -> int:
        """What a selector knows the connection by."""
        return self._connection.fileno()

    @property
    def is_empty(self) -> bool:
        """The system has taken all that was written."""
        return not self._unsent

    @property
    def held_bytes(self) -> int:
        """What the system has not taken, and is kept here meanwhile."""
        return len(self._unsent)

    @property
    def is_stuck(self) -> bool:
        """The client has not taken in time what was written."""
        return bool(self._unsent) and time.monotonic() - self.written_at > TAKE_S

    def write(self, data: bytes) -> None:
        """The data is on its way, or kept until there is room for it."""
        self._unsent += data
        self.written_at = time.monotonic()
        self.flush()

    def flush(self) -> None:
        """As much is on its way as there is room for."""
        try:
            while self._unsent:
                del self._unsent[: self._connection.send(self._unsent)]
        except BlockingIOError:
            return

    def listen(self) -> None:
        """What the client sends is thrown away: a stream takes no requests. Raises OSError at its end."""
        try:
            if not self._connection.recv(65_536):
                raise ConnectionResetError("the client closed the connection")
        except BlockingIOError:
            return

    def close(self) -> None:
        """The client sees the end."""
        self._connection.close()


def _watch_over(connection: socket.socket) -> None:
    """The system notices a client that vanished without a word, also while something is under way to it."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    idle, pause, probes = PROBE_S
    # By name: no system has all of them.
    options = {
        "TCP_KEEPIDLE": idle,
        "TCP_KEEPALIVE": idle,
        "TCP_KEEPINTVL": pause,
        "TCP_KEEPCNT": probes,
        "TCP_USER_TIMEOUT": round(TAKE_S * 1000),
    }
    for name, value in options.items():
        if (option := getattr(socket, name, None)) is not None:
            connection.setsockopt(socket.IPPROTO_TCP, option, value)
