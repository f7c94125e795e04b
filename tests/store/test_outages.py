"""The server is away, stands still or comes back: what the caller hears, and when."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from coatcheck.tasks_store import (
    Claim,
    Patience,
    Status,
    StoreRefused,
    StoreSettings,
    StoreUnavailable,
    TaskStore,
    Verdict,
)
from tests.store.stages import CONFIRM, OWNER, YES, call, completed, queued, running
from tests.support import wait_until
from tests.support.valkey import Valkey

DOOR_SECONDS = 3.0
"""The longest that a person waits before hearing that the store is away."""

METHODS: dict[str, Callable[[TaskStore, str], object]] = {
    "create": lambda store, task_id: store.create(call()),
    "get": lambda store, task_id: store.get(OWNER, task_id),
    "answer": lambda store, task_id: store.answer(OWNER, task_id, {"confirm": YES}),
    "cancel": lambda store, task_id: store.cancel(OWNER, task_id),
    "claim": lambda store, task_id: store.claim(task_id, "run-1"),
    "renew": lambda store, task_id: store.renew(task_id, "run-1"),
    "park": lambda store, task_id: store.park(task_id, "run-1", [CONFIRM]),
    "finish": lambda store, task_id: store.finish(task_id, "run-1", Status.COMPLETED, result=b"{}"),
    "given": lambda store, task_id: store.given(task_id, "confirm"),
    "accept": lambda store, task_id: store.accept(task_id, "confirm", Verdict.ACCEPTED),
    "due": lambda store, task_id: store.maintenance.due(0, 10),
    "beat": lambda store, task_id: store.maintenance.beat("worker-1"),
    "secret": lambda store, task_id: store.secret(),
    "listing.page": lambda store, task_id: store.listing.page(OWNER),
    "ping": lambda store, task_id: store.ping(),
}


@pytest.fixture
def server() -> Iterator[Valkey]:
    """A server of this test's own, which keeps its data over a crash."""
    with Valkey(appendonly="yes", appendfsync="always") as server:
        yield server


@pytest.fixture
def door(server: Valkey) -> Iterator[TaskStore]:
    """The store as the front door uses it."""
    store = TaskStore(StoreSettings(redis_url=server.url), Patience.DOOR)
    yield store
    store.close()


@pytest.fixture
def worker(server: Valkey) -> Iterator[TaskStore]:
    """The store as a worker uses it."""
    store = TaskStore(StoreSettings(redis_url=server.url), Patience.WORKER)
    yield store
    store.close()


def refused_within(seconds: float, method: Callable[[], object]) -> StoreUnavailable:
    """The error that the method ended with in time."""
    start = time.monotonic()
    with pytest.raises(StoreUnavailable) as away:
        method()
    assert time.monotonic() - start < seconds
    return away.value


@pytest.mark.parametrize("name", METHODS)
def test_a_server_that_is_gone_is_told_at_once(server: Valkey, door: TaskStore, name: str) -> None:
    task_id = queued(door)
    server.kill()
    away = refused_within(DOOR_SECONDS, lambda: METHODS[name](door, task_id))
    assert not isinstance(away, StoreRefused)


def test_a_server_that_stands_still_is_told_within_three_seconds(server: Valkey, door: TaskStore) -> None:
    task_id = queued(door)
    server.pause()
    with ThreadPoolExecutor(len(METHODS)) as threads:
        calls = [
            threads.submit(refused_within, DOOR_SECONDS, partial(method, door, task_id)) for method in METHODS.values()
        ]
        assert [call.result() for call in calls]
    server.resume()
    assert door.get(OWNER, task_id).task_id == task_id


def test_a_store_that_was_away_works_again_without_a_new_client(server: Valkey, door: TaskStore) -> None:
    task_id = queued(door)
    server.kill()
    refused_within(DOOR_SECONDS, door.ping)
    server.start()
    assert door.get(OWNER, task_id).status is Status.WORKING
    assert isinstance(door.claim(task_id, "run-1"), Claim)


def test_a_connection_that_died_while_idle_is_not_noticed(server: Valkey, door: TaskStore) -> None:
    task_id = queued(door)
    server.kill()
    server.start()
    assert door.get(OWNER, task_id).status is Status.WORKING


def test_a_worker_rides_out_a_restart(server: Valkey, worker: TaskStore) -> None:
    task_id = running(worker)
    server.kill()
    with ThreadPoolExecutor(1) as threads:
        ending = threads.submit(worker.finish, task_id, "run-1", Status.COMPLETED, result=b"{}")
        wait_until(ending.running)
        server.start()
        assert ending.result() is Status.COMPLETED
    assert worker.get(OWNER, task_id).status is Status.COMPLETED


def test_what_reached_a_server_that_stood_still_happens_once(
    server: Valkey, door: TaskStore, worker: TaskStore
) -> None:
    door.release(running(door), "run-1")  # the server knows the script from here on
    task_id = running(door)
    server.pause()
    refused_within(DOOR_SECONDS, lambda: door.release(task_id, "run-1"))
    server.resume()
    wait_until(lambda: worker.get(OWNER, task_id).message != "Running")
    claim = worker.claim(task_id, "run-2")
    assert isinstance(claim, Claim)
    assert claim.run_number == 2


def test_a_task_outlives_the_death_of_the_server(server: Valkey, door: TaskStore) -> None:
    """TASK-4"""
    ended = completed(door)
    before = door.get(OWNER, ended)
    server.kill()
    server.start()
    assert door.get(OWNER, ended) == before


def test_a_server_that_loads_its_data_refuses_for_now() -> None:
    with Valkey(
        appendonly="yes",
        appendfsync="always",
        key_load_delay="5000",  # microseconds
        loading_process_events_interval_bytes="1024",
    ) as server:
        with server.client() as client:
            client.mset({f"key-{number}": "x" * 1_024 for number in range(300)})
            client.bgrewriteaof()
            wait_until(lambda: not client.info("persistence")["aof_rewrite_in_progress"])
        server.kill()
        server.process.start()
        store = TaskStore(StoreSettings(redis_url=server.url), Patience.DOOR)

        def refused() -> bool:
            try:
                store.get(OWNER, "0" * 33)
            except StoreRefused:
                return True
            except StoreUnavailable:
                return False
            raise AssertionError("it had loaded already")

        wait_until(refused)
        store.close()
