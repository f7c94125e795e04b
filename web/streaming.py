"""Answers of calls that take a while: as an event stream, or in one piece while the client is there."""

import select
import socket
import time
from collections.abc import Callable, Iterator

from gevent.monkey import get_original

from web.answer import Answer, Answering
from web.events import COMMENT, COMMENT_S, event
from web.in_flight import InFlight

poll = get_original("select", "poll")  # the patched one would let others run


def streamed(answering: Answering, has_left: Callable[[], bool], in_flight: InFlight) -> Iterator[bytes]:
    """The events of a call: what its client is told meanwhile, then its response, and nothing after that.

    The call is cancelled when the client goes away or the stream is closed.

    Source: basic/transports/streamable-http, "Receiving Messages".
    """
    yield COMMENT  # the headers leave with the first byte
    last_sent = time.monotonic()
    try:
        while True:
            message = next(answering)
            if message is not None:
                yield from in_flight.pieces(event(message))
            elif has_left():
                return
            elif time.monotonic() - last_sent < COMMENT_S:
                continue
            else:
                yield COMMENT
            last_sent = time.monotonic()
    except StopIteration as end:
        yield from in_flight.pieces(event(end.value.message))
    finally:
        answering.close()


def in_one_piece(answering: Answering, has_left: Callable[[], bool]) -> Answer | None:
    """The answer; None when the client went away, which cancelled the call."""
    try:
        while True:
            next(answering)
            if has_left():
                return None
    except StopIteration as end:
        answer: Answer = end.value
        return answer
    finally:
        answering.close()


def client_has_left(connection: socket.socket | None) -> bool:
    """True when the client closed the connection; False when that cannot be known."""
    if connection is None:
        return False
    try:
        readable = poll()
        readable.register(connection, select.POLLIN)
        return bool(readable.poll(0)) and connection.recv(1, socket.MSG_PEEK) == b""
    except (OSError, ValueError):
        return True
