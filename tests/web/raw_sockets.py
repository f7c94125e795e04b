"""HTTP below the level of a client library: bytes in, bytes out."""

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

LIMIT_S = 20.0
"""How long a server may be silent before a test fails."""


@contextmanager
def connected(port: int) -> Iterator[socket.socket]:
    """A connection to a server on this machine."""
    with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as connection:
        yield connection


def head_of(headers: dict[str, str], *, verb: str = "POST", path: str = "/mcp", host: str = "127.0.0.1") -> bytes:
    """The head of a request."""
    lines = [f"{verb} {path} HTTP/1.1", f"Host: {host}", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode()


def whole(headers: dict[str, str], body: bytes) -> bytes:
    """A POST with its body."""
    return head_of({**headers, "Content-Length": str(len(body))}) + body


def all_of(connection: socket.socket) -> bytes:
    """Everything that comes until the server ends the connection."""
    found = b""
    try:
        while piece := connection.recv(65_536):
            found += piece
    except ConnectionResetError:  # it ended with bytes of ours unread
        pass
    return found


def until(connection: socket.socket, wanted: bytes) -> bytes:
    """Everything that comes, up to the first piece that completes `wanted`."""
    found = b""
    while wanted not in found:
        piece = connection.recv(65_536)
        assert piece, f"the connection ended before {wanted!r}: {found!r}"
        found += piece
    return found


def status_of(response: bytes) -> int:
    """The status of a response."""
    return int(response.split(b" ", 2)[1])


def reset(connection: socket.socket) -> None:
    """The connection ends without a goodbye."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
