"""Answers of calls that take a while: as an event stream with progress, or in one piece while the client is there."""

import select
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import orjson

from web.dispatch import Answer, Answering
from web.envelope import RequestId
from web.wire import progress_message

COMMENT_S: Final = 10.0
"""How long a stream is silent at most: routers cut connections that are idle for a minute."""

COMMENT: Final = b":\n\n"

HEADERS: Final[Mapping[str, str]] = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
"""Keep what is between us and the client from holding events back."""


def event(message: bytes) -> bytes:
    """One server-sent event. JSON as it is written here has no line breaks."""
    return b"event: message\ndata: " + message + b"\n\n"


def streamed(answering: Answering, token: RequestId, has_left: Callable[[], bool]) -> Iterator[bytes]:
    """The events of a call: its progress, strictly increasing, then its response, and nothing after that.

    The call is cancelled when the client goes away or the stream is closed.

    Source: basic/patterns/progress; basic/transports/streamable-http, "Receiving Messages".
    """
    yield COMMENT  # the headers leave with the first byte
    last_sent, reached = time.monotonic(), float("-inf")
    try:
        while True:
            news = next(answering)
            if has_left():
                return
            told = orjson.loads(news) if news is not None else None
            if told is not None and told["progress"] > reached:
                reached = told["progress"]
                yield event(progress_message(token, told))
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
