"""Streams without a server around them: what would take too long to wait for with one."""

import select
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest

from tasks_store import ANONYMOUS, Feed, TaskStore
from tests.streams.conftest import Work
from tests.support.waiting import wait_until
from web.auth.caller import ANYBODY, Caller
from web.errors import TooManyStreams
from web.outlet import can_take, take
from web.seats import Seats
from web.streams import Streams
from web.subscription import Subscription

SERVER = {"name": "coatcheck", "version": "1"}


@pytest.fixture
def seats() -> Seats:
    """Room for one stream."""
    return Seats(1, 0)


@pytest.fixture
def streams(store: TaskStore, seats: Seats, monkeypatch: pytest.MonkeyPatch) -> Iterator[Streams]:
    """The streams of this process, in a hurry."""
    monkeypatch.setattr("web.streams.LOOK_S", 0.05)
    with closing(Feed(store.settings)) as feed, closing(Streams(store, feed, seats, SERVER)) as streams:
        yield streams


def is_free(streams: Streams) -> bool:
    """Another stream would be let in."""
    try:
        streams.take_seat(ANONYMOUS)
    except TooManyStreams:
        return False
    streams.give_seat_back(ANONYMOUS)
    return True


def opened(streams: Streams, task_id: str, caller: Caller = ANYBODY) -> socket.socket:
    """The client's end of a stream on this task."""
    streams.take_seat(ANONYMOUS)
    ours, theirs = socket.socketpair()
    with ours:
        streams.begin(Subscription(1, caller, (task_id,)), ours, b"head\r\n\r\n")
    theirs.settimeout(10.0)
    return theirs


def all_of(connection: socket.socket) -> bytes:
    """Everything that comes until the end."""
    found = b""
    while piece := connection.recv(65_536):
        found += piece
    return found


def test_a_reader_who_takes_nothing_is_cut(store: TaskStore, streams: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    """SUB-3"""
    monkeypatch.setattr("web.outlet.TAKE_S", 0.3)
    work = Work(store)
    task_id = work.new()
    work.run(task_id)
    with opened(streams, task_id) as client:
        work.report(task_id, "x" * 4_000_000)
        assert not is_free(streams)
        wait_until(lambda: is_free(streams), 10.0, "the end of the stream")
        assert b'"result"' not in all_of(client)


@pytest.mark.parametrize("seats", [Seats(10, 0)], ids=["room for ten"])
def test_slow_readers_together_hold_back_so_much_at_most(
    store: TaskStore, streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SUB-3: whoever holds back most is cut; the others stay."""
    monkeypatch.setattr("web.streams.MOST_HELD", 10_000_000)
    work = Work(store)
    task_id = work.new()
    work.run(task_id)
    with ExitStack() as all_of_them:
        clients = [all_of_them.enter_context(opened(streams, task_id)) for _ in range(10)]
        work.report(task_id, "x" * 4_000_000)
        wait_until(lambda: sum(has_been_cut(client) for client in clients) == 8, 10.0, "the end of eight streams")
        assert is_free(streams)


def has_been_cut(client: socket.socket) -> bool:
    """The other end of the connection is closed; nothing is read from it."""
    poll = select.poll()
    poll.register(client, select.POLLHUP)
    return any(mask & select.POLLHUP for _, mask in poll.poll(0))


def test_a_stream_ends_when_what_proves_its_caller_expires(store: TaskStore, streams: Streams) -> None:
    """C105"""
    task_id = Work(store).new()
    with opened(streams, task_id, Caller(ANONYMOUS, None, time.time() + 0.3)) as client:
        assert b'"resultType":"complete"' in all_of(client).splitlines()[-2]
    wait_until(lambda: is_free(streams))


def test_a_comment_breaks_the_silence(store: TaskStore, streams: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    """HTTP-8"""
    monkeypatch.setattr("web.stream.COMMENT_S", 0.1)
    with opened(streams, Work(store).new()) as client:
        found = b""
        while b"\n\n:\n\n:\n\n" not in found:
            found += client.recv(65_536)


def test_a_process_that_ends_begins_no_stream(store: TaskStore, streams: Streams) -> None:
    """SUB-2"""
    task_id = Work(store).new()
    with opened(streams, task_id) as client:
        streams.close()
        assert b'"resultType":"complete"' in all_of(client).splitlines()[-2]
    with pytest.raises(TooManyStreams):
        streams.take_seat(ANONYMOUS)


def test_a_stream_that_was_granted_before_the_end_is_ended_at_once(store: TaskStore, streams: Streams) -> None:
    """SUB-2: nobody is left waiting on a connection that nobody serves."""
    task_id = Work(store).new()
    streams.take_seat(ANONYMOUS)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.settimeout(10.0)
        streams.close()
        streams.begin(Subscription(1, ANYBODY, (task_id,)), ours, b"head\r\n\r\n")
        assert b'"resultType":"complete"' in all_of(theirs).splitlines()[-2]


def test_what_was_taken_over_is_closed_by_its_new_owner_alone() -> None:
    """C38: the server closes a stand-in, and the client notices nothing of it."""
    ours, theirs = socket.socketpair()
    with theirs:
        with ours:
            taken = take(ours)
            with pytest.raises(BrokenPipeError):
                ours.sendall(b"to nobody")
            ours.shutdown(socket.SHUT_WR)
            assert ours.recv(10) == b""
        with taken:
            taken.sendall(b"to the client")
            assert theirs.recv(100) == b"to the client"
        assert theirs.recv(100) == b""


def test_only_plain_connections_can_be_taken_over() -> None:
    """C43"""
    assert not can_take(None)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert can_take(ours)
