"""Whoever watches a task hears of every change, also of those that a lost connection hid."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from redis import Redis

from coatcheck.tasks_store import Event, Feed, Status, StoreSettings, TaskStore, Watch
from coatcheck.tasks_store.change_feed import BACKLOG
from coatcheck.tasks_store.keys import FEED
from tests.store.stages import CONFIRM, OWNER, YES, cancelling, parked, past, past_limit, queued, resumed, running
from tests.support import wait_until
from tests.support.valkey import Valkey


@pytest.fixture(scope="module")
def feed(valkey: Valkey) -> Iterator[Feed]:
    """The feed of one process."""
    feed = Feed(StoreSettings(redis_url=valkey.url))
    with feed.watch("nothing") as watch:
        assert next_events(watch)  # the connection exists from here on
        yield feed
    feed.close()


def next_events(watch: Watch) -> list[Event]:
    """What the watch hears next."""
    return watch.wait(10.0)


def settle(raw: Redis, feed: Feed) -> None:
    """What was announced so far has been told."""
    with feed.watch("settled") as watch:
        raw.publish(FEED, "settled")
        assert next_events(watch)


Prepare = Callable[[TaskStore], str]
Change = Callable[[TaskStore, str], object]


def overdue(stage: Prepare, field_name: str) -> Callable[[TaskStore, Redis], str]:
    """A task of this stage whose time has come."""

    def prepare(store: TaskStore, raw: Redis) -> str:
        task_id = stage(store)
        past(raw, task_id, field_name)
        return task_id

    return prepare


def plain(stage: Prepare) -> Callable[[TaskStore, Redis], str]:
    """A task of this stage."""
    return lambda store, raw: stage(store)


CHANGES: dict[str, tuple[Callable[[TaskStore, Redis], str], Change]] = {
    "claim": (plain(queued), lambda store, task_id: store.claim(task_id, "run-1")),
    "park": (plain(running), lambda store, task_id: store.park(task_id, "run-1", [CONFIRM])),
    "answer": (plain(parked), lambda store, task_id: store.answer(OWNER, task_id, {"confirm": YES})),
    "finish": (plain(running), lambda store, task_id: store.finish(task_id, "run-1", Status.COMPLETED, result=b"{}")),
    "release": (plain(running), lambda store, task_id: store.release(task_id, "run-1")),
    "abort": (plain(running), lambda store, task_id: store.maintenance.abort(task_id, "run", "The time limit passed")),
    "cancel": (plain(queued), lambda store, task_id: store.cancel(OWNER, task_id)),
    "cancel a run": (plain(running), lambda store, task_id: store.cancel(OWNER, task_id)),
    "recover": (overdue(running, "lease"), lambda store, task_id: store.maintenance.recover(task_id, held=False)),
    "recover into a cancel": (
        overdue(cancelling, "lease"),
        lambda store, task_id: store.maintenance.recover(task_id, held=False),
    ),
    "expire": (overdue(resumed, "expires"), lambda store, task_id: store.maintenance.expire(task_id)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_of_the_record_is_one_event(store: TaskStore, raw: Redis, feed: Feed, change: str) -> None:
    """SUB-2"""
    stage, transition = CHANGES[change]
    task_id = stage(store, raw)
    settle(raw, feed)
    with feed.watch(task_id) as watch:
        transition(store, task_id)
        assert next_events(watch) == [Event(task_id)]


def test_a_lapsed_input_is_an_event(store: TaskStore, raw: Redis, feed: Feed) -> None:
    task_id = parked(store)
    past_limit(raw, task_id, "confirm")
    settle(raw, feed)
    with feed.watch(task_id) as watch:
        store.maintenance.lapse(task_id)
        assert next_events(watch) == [Event(task_id)]


def test_progress_arrives_with_what_the_run_reported(store: TaskStore, raw: Redis, feed: Feed) -> None:
    task_id = running(store)
    report = b'{"progress":1,"total":3,"message":"Outline ready"}'
    settle(raw, feed)
    with feed.watch(task_id) as watch:
        store.progress(task_id, "run-1", "Outline ready", report)
        assert next_events(watch) == [Event(task_id, report)]


def test_a_watch_hears_of_its_own_task_alone_and_every_watch_of_it_does(store: TaskStore, feed: Feed) -> None:
    """SUB-4"""
    task_id, other = queued(store), queued(store)
    with feed.watch(task_id) as first, feed.watch(task_id) as second:
        store.claim(other, "run-1")
        store.claim(task_id, "run-1")
        assert next_events(first) == next_events(second) == [Event(task_id)]
        assert first.wait(0) == second.wait(0) == []


def test_a_change_after_the_watch_began_is_never_missed(store: TaskStore, feed: Feed) -> None:
    """SUB-2: what is read after the watch began, plus the events, is the whole truth."""
    with ThreadPoolExecutor(1) as other_process:
        for _ in range(100):
            task_id = running(store)
            ending = other_process.submit(store.finish, task_id, "run-1", Status.COMPLETED, result=b"{}")
            with feed.watch(task_id) as watch:
                while not store.get(OWNER, task_id).status.is_terminal:
                    assert next_events(watch)
            ending.result()


def test_a_lost_connection_gives_every_watch_an_event(store: TaskStore, raw: Redis, feed: Feed) -> None:
    first, second = queued(store), queued(store)
    settle(raw, feed)
    with feed.watch(first) as one, feed.watch(second) as two:
        raw.client_kill_filter(_type="pubsub")
        assert next_events(one) == [Event(first)]
        assert next_events(two) == [Event(second)]
        store.claim(second, "run-1")
        assert next_events(two) == [Event(second)]
        assert one.wait(0) == []


def test_a_server_that_comes_back_gives_every_watch_an_event() -> None:
    with Valkey() as server:
        feed = Feed(StoreSettings(redis_url=server.url))
        with feed.watch("task") as watch:
            assert next_events(watch) == [Event("task")]
            server.kill()
            server.start()
            assert next_events(watch) == [Event("task")]
        feed.close()


def test_a_watch_begun_while_the_server_is_away_hears_once_it_is_there() -> None:
    with Valkey() as server:
        server.stop()
        feed = Feed(StoreSettings(redis_url=server.url))
        with feed.watch("task") as watch:
            server.start()
            assert next_events(watch) == [Event("task")]
        feed.close()


def test_a_server_that_falls_silent_is_given_up_for_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """A half-open connection brings no error; what happened meanwhile is told with the next one."""
    monkeypatch.setattr("coatcheck.tasks_store.change_feed.PING_SECONDS", 0.1)
    monkeypatch.setattr("coatcheck.tasks_store.change_feed.SILENCE_SECONDS", 1.5)
    with Valkey() as server, closing(Feed(StoreSettings(redis_url=server.url))) as feed, feed.watch("task") as watch:
        assert next_events(watch) == [Event("task")]
        assert watch.wait(2.5) == []  # an answered question keeps a quiet connection
        server.pause()
        assert watch.wait(3.5) == []
        server.resume()
        assert next_events(watch) == [Event("task")]


def test_a_watch_that_nobody_reads_keeps_the_newest_events_only(store: TaskStore, raw: Redis, feed: Feed) -> None:
    """SUB-3"""
    with feed.watch("slow") as watch:
        for number in range(BACKLOG + 50):
            raw.publish(FEED, f"slow {number}")
        with feed.watch("last") as last:
            raw.publish(FEED, "last")
            next_events(last)
        assert next_events(watch) == [Event("slow", str(number).encode()) for number in range(50, BACKLOG + 50)]


def test_all_watches_of_a_process_share_one_connection(raw: Redis, feed: Feed) -> None:
    with feed.watch("a"), feed.watch("b"), feed.watch("c"):
        assert raw.pubsub_numsub(FEED) == [(FEED.encode(), 1)]


def test_a_closed_feed_holds_no_connection() -> None:
    with Valkey() as server, server.client() as client:
        feed = Feed(StoreSettings(redis_url=server.url))
        with feed.watch("task") as watch:
            assert next_events(watch)
            assert client.pubsub_numsub(FEED) == [(FEED.encode(), 1)]
        feed.close()
        wait_until(lambda: client.pubsub_numsub(FEED) == [(FEED.encode(), 0)])


def test_a_feed_that_was_never_watched_closes_at_once() -> None:
    Feed(StoreSettings(redis_url="redis://127.0.0.1:1/0")).close()
