"""What streams are told, without a server around them."""

import time
from collections.abc import Iterator
from contextlib import closing

import pytest
from redis import Redis

from coatcheck.tasks_store import ANONYMOUS, Feed, Status, Task, TaskStore
from coatcheck.tasks_store.keys import FEED, TaskKeys
from coatcheck.web.errors import LimitReached, TooManyStreams
from coatcheck.web.streams.broadcaster import Subscriber, TaskBroadcaster
from coatcheck.web.streams.concurrency_limit import ConcurrencyLimit
from tests.streams.conftest import Work
from tests.support.waiting import wait_until

LIMIT_S = 10.0


@pytest.fixture
def streams(store: TaskStore) -> Iterator[TaskBroadcaster]:
    """The streams of this process, with a place for one."""
    limit = ConcurrencyLimit("streams", 1, 0, lambda: TooManyStreams("full"))
    with closing(Feed(store.settings)) as feed, closing(TaskBroadcaster(store, feed, limit)) as streams:
        yield streams


def told(follower: Subscriber) -> Task | None:
    """The next state of the one task that is followed."""
    ends_at = time.monotonic() + LIMIT_S
    while time.monotonic() < ends_at:
        if news := follower.take(LIMIT_S):
            (task,) = news.values()
            return task
    raise AssertionError("nothing was told")


def test_a_follower_is_told_the_state_of_now_and_each_later_one(store: TaskStore, streams: TaskBroadcaster) -> None:
    """SUB-2"""
    work = Work(store)
    task_id = work.new()
    with streams.subscribe(ANONYMOUS, [task_id]) as follower:
        assert told(follower) == store.get(ANONYMOUS, task_id)
        work.run(task_id)
        assert told(follower) == store.get(ANONYMOUS, task_id)
        work.finish(task_id)
        ended = told(follower)
    assert ended is not None
    assert ended.status is Status.COMPLETED


def test_a_follower_who_does_not_look_is_told_the_newest_state_alone(
    store: TaskStore, streams: TaskBroadcaster
) -> None:
    """SUB-3"""
    work = Work(store)
    task_id = work.new()
    with streams.subscribe(ANONYMOUS, [task_id]) as lazy, streams.subscribe(ANONYMOUS, [task_id]) as eager:
        told(lazy)
        told(eager)
        work.run(task_id)
        told(eager)
        work.ask(task_id)
        assert (newest := told(eager)) is not None
        assert newest.status is Status.INPUT_REQUIRED
        assert told(lazy) == newest
        assert not lazy.take(0)


def test_a_change_is_read_once_however_many_follow(store: TaskStore, streams: TaskBroadcaster) -> None:
    """SUB-2: and all are given the same object, so that a large result is in memory once."""
    work = Work(store)
    task_id = work.finished()
    with streams.subscribe(ANONYMOUS, [task_id]) as one, streams.subscribe(ANONYMOUS, [task_id]) as other:
        first, second = told(one), told(other)
    assert first == second


def test_a_task_that_is_gone_is_told_as_nothing(store: TaskStore, streams: TaskBroadcaster) -> None:
    """TASK-10"""
    with streams.subscribe(ANONYMOUS, ["0" * 33]) as follower:
        assert told(follower) is None


def test_a_record_that_cannot_be_read_silences_no_other(store: TaskStore, streams: TaskBroadcaster, raw: Redis) -> None:
    """K1.4: of the one nothing is known any more, of the other everything."""
    work = Work(store)
    broken, whole = work.new(), work.new()
    raw.hset(TaskKeys.of(broken).task, "created", "no number")
    with streams.subscribe(ANONYMOUS, [broken, whole]) as follower:
        news: dict[str, Task | None] = {}
        wait_until(lambda: news.update(follower.take(LIMIT_S)) or len(news) == 2, LIMIT_S, "both")
    assert news[broken] is None
    assert news[whole] == store.get(ANONYMOUS, whole)


@pytest.mark.parametrize("payload", [b"\xff\xfe", b"", b" ", b"x" * 100_000])
def test_a_message_that_makes_no_sense_silences_nothing(
    store: TaskStore, streams: TaskBroadcaster, raw: Redis, payload: bytes
) -> None:
    """K1.4"""
    work = Work(store)
    task_id = work.new()
    with streams.subscribe(ANONYMOUS, [task_id]) as follower:
        told(follower)
        raw.publish(FEED, payload)
        work.run(task_id)
        assert told(follower) == store.get(ANONYMOUS, task_id)


def test_a_process_that_ends_wakes_its_streams_and_begins_none(store: TaskStore, streams: TaskBroadcaster) -> None:
    """SUB-2"""
    with streams.subscribe(ANONYMOUS, [Work(store).new()]) as follower:
        told(follower)
        streams.end_all()
        assert not follower.take(LIMIT_S)
        assert streams.is_ending
    with pytest.raises(TooManyStreams), streams.slot(ANONYMOUS):
        pass


def test_a_place_is_given_back_whatever_happens(streams: TaskBroadcaster) -> None:
    """C39"""
    for _ in range(3):
        with streams.slot(ANONYMOUS), pytest.raises(TooManyStreams), streams.slot(ANONYMOUS):
            pass
    assert streams.open == 0


def test_one_owner_has_no_more_places_than_one_owner_may() -> None:
    """C39"""
    limit = ConcurrencyLimit("streams", 9, 1, lambda: TooManyStreams("full"))
    with limit.slot(ANONYMOUS), pytest.raises(LimitReached), limit.slot(ANONYMOUS):
        pass
