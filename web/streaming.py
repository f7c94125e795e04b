"""Answers of calls that take a while: as an event stream, or in one piece while the client is there."""

import select
import socket
import time
from collections.abc import Callable, Iterator

from web.answer import Answer, Answering
from web.events import COMMENT, COMMENT_S, event


def streamed(answering: Answering, has_left: Callable[[], bool]) -> Iterator[bytes]:
    """The events of a call: what its client is told meanwhile, then its response, and nothing after that.

    The call is cancelled when the client goes away or the stream is closed.

    Source: basic/transports/streamable-http, "Receiving Messages".
    """
    yield COMMENT  # the headers leave with the first byte
    last_sent = time.monotonic()
    try:
        while True:
            message = next(answering)
            if has_left():
                return
            if message is not None:
                yield event(message)
            elif time.monotonic() - last_sent < COMMENT_S:
                continue
            else:
                yield COMMENT
            last_sent = time.monotonic()
    except StopIteration as end:
        yield event(end.value.message)
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
        poll = select.poll()
        poll.register(connection, select.POLLIN)
        return bool(poll.poll(0)) and connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except (OSError, ValueError):
        return True
