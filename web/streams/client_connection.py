"""Send the response of a pending call, as an event stream or whole, while its client is connected."""

import select
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import gevent
from gevent.monkey import get_original

from coatcheck.web.protocol.response import ResponseGenerator, RpcResponse
from coatcheck.web.protocol.sse import COMMENT, MAX_SILENCE_S, sse_event
from coatcheck.web.server.memory_limit import MemoryLimit
from coatcheck.web.server.threads import is_cooperative
from coatcheck.web.streams.waiting import WAKE

READABLE: Final = 1

poll = get_original("select", "poll")  # the patched one would let others run


class ClientConnection:
    """The connection of a client that waits, and whether it was closed."""

    def __init__(self, connection: socket.socket | None) -> None:
        """Without a connection, a disconnect is not noticed."""
        self._connection = connection
        self._has_left = False

    @property
    def has_left(self) -> bool:
        """The client closed the connection."""
        return self._has_left or (not is_cooperative() and is_closed(self._connection))

    @contextmanager
    def watch_for_close(self) -> Iterator[None]:
        """Wake the wait when the client disconnects during the block."""
        if self._connection is None or not is_cooperative():
            yield
            return
        wake = WAKE.get()
        watcher = gevent.get_hub().loop.io(self._connection.fileno(), READABLE)

        def look() -> None:
            watcher.stop()  # else it would be called again and again for what the client sends ahead
            self._has_left = is_closed(self._connection)
            if self._has_left and wake is not None:
                wake()

        watcher.start(look)
        try:
            yield
        finally:
            watcher.stop()
            watcher.close()


def event_stream(answering: ResponseGenerator, client: ClientConnection, memory: MemoryLimit) -> Iterator[bytes]:
    """Yield the events of a call: its messages, then its response.

    The call is cancelled when the client disconnects or the stream is closed.

    Source: basic/transports/streamable-http, "Receiving Messages".
    """
    last_sent = time.monotonic()
    try:
        yield COMMENT  # the headers leave with the first byte
        with client.watch_for_close():
            while True:
                message = next(answering)
                if client.has_left:
                    return
                if message is not None:
                    yield from memory.chunks(sse_event(message))
                elif time.monotonic() - last_sent < MAX_SILENCE_S:
                    continue
                else:
                    yield COMMENT
                last_sent = time.monotonic()
    except StopIteration as end:
        yield from memory.chunks(sse_event(end.value.message))
    finally:
        answering.close()


def wait_for_response(answering: ResponseGenerator, client: ClientConnection) -> RpcResponse | None:
    """Return the response; None when the client disconnected, which cancelled the call."""
    try:
        with client.watch_for_close():
            while True:
                next(answering)
                if client.has_left:
                    return None
    except StopIteration as end:
        answer: RpcResponse = end.value
        return answer
    finally:
        answering.close()


def is_closed(connection: socket.socket | None) -> bool:
    """Tell whether the client closed the connection; False when that cannot be known."""
    if connection is None:
        return False
    try:
        readable = poll()
        readable.register(connection, select.POLLIN)
        return bool(readable.poll(0)) and connection.recv(1, socket.MSG_PEEK) == b""
    except ValueError:  # TLS cannot look ahead
        return connection.fileno() < 0
    except OSError:
        return True
