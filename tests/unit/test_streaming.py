"""How the progress of a call, and the client's leaving, show."""

import json
import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import gevent

from coatcheck.web.protocol.response import ResponseGenerator, RpcResponse
from coatcheck.web.protocol.sse import COMMENT, sse_event
from coatcheck.web.rpc.progress_notifications import ProgressNotifications
from coatcheck.web.server.memory_limit import MemoryLimit
from coatcheck.web.streams.client_connection import ClientConnection, event_stream, is_closed, wait_for_response

FINAL = RpcResponse(b'{"jsonrpc":"2.0","id":1,"result":{}}')


def answering(news: Iterable[bytes | None], closed: list[bool]) -> ResponseGenerator:
    """A call with this progress; `closed` tells when it was given up."""
    try:
        yield from news
    except GeneratorExit:
        closed.append(True)
        raise
    return FINAL


STAYS = ClientConnection(None)


@contextmanager
def gone() -> Iterator[ClientConnection]:
    """A client that has left."""
    ours, theirs = socket.socketpair()
    with ours:
        theirs.close()
        yield ClientConnection(ours)


def endless(closed: list[bool]) -> ResponseGenerator:
    """A call that is waited for, with pauses in which the loop looks at its connections."""
    while True:
        gevent.sleep(0.01)
        try:
            yield None
        except GeneratorExit:
            closed.append(True)
            raise


def test_only_strictly_rising_progress_is_told_and_the_response_ends_the_stream() -> None:
    """CALL-4, HTTP-8."""
    rising = [b'{"progress":1}', b'{"progress":1}', None, b'{"progress":0.5}', b'{"progress":2,"total":2}']
    first, *events = event_stream(ProgressNotifications("t").wrap(answering(rising, [])), STAYS, MemoryLimit())
    assert first == COMMENT
    told = [json.loads(one.removeprefix(b"event: message\ndata: ")) for one in events]
    assert [one.get("params") for one in told] == [
        {"progressToken": "t", "progress": 1},
        {"progressToken": "t", "progress": 2, "total": 2},
        None,
    ]
    assert events[-1] == sse_event(FINAL.message)


def test_a_client_that_leaves_gives_up_the_call_in_both_forms() -> None:
    """CALL-5."""
    closed: list[bool] = []
    for _ in range(2):
        with gone() as client:
            assert wait_for_response(endless(closed), client) is None
        with gone() as client:
            assert list(event_stream(ProgressNotifications(1).wrap(endless(closed)), client, MemoryLimit())) == [
                COMMENT
            ]
    assert closed == [True] * 4


def test_a_stream_that_is_closed_gives_up_the_call() -> None:
    """CALL-5."""
    closed: list[bool] = []
    stream = event_stream(
        ProgressNotifications(1).wrap(answering([b'{"progress":1}'] * 9, closed)), STAYS, MemoryLimit()
    )
    assert next(stream) == COMMENT
    next(stream)
    stream.close()
    assert closed == [True]


def test_an_answer_in_one_piece_comes_when_the_call_ends() -> None:
    """CALL-3."""
    assert wait_for_response(answering([None, b'{"progress":1}'], []), STAYS) == FINAL


def test_a_closed_connection_is_noticed_and_an_open_one_left_alone() -> None:
    """CALL-5."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert not is_closed(ours)
        theirs.send(b"the next request")
        assert not is_closed(ours)
        assert ours.recv(100) == b"the next request"
        theirs.close()
        assert is_closed(ours)
    assert is_closed(ours)
    assert not is_closed(None)
