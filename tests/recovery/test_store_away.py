"""The store, which is the broker too, is away in every way we know: what clients hear, and what becomes of the work."""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.e2e.ledger import Ledger
from tests.recovery.tools import GO_ON
from tests.support.client import Client, Json, Reply
from tests.support.platform import Platform
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until

DOOR_SECONDS = 3.0
"""The longest that a client waits before hearing that the store is away."""


@pytest.fixture(scope="module")
def platform(bare_platform: Platform) -> Platform:
    """A platform with one worker; every test leaves store and worker running."""
    bare_platform.start_worker()
    return bare_platform


def kill(valkey: Valkey) -> None:
    """The server is gone."""
    valkey.kill()


def pause(valkey: Valkey) -> None:
    """The server takes connections, and answers nobody."""
    valkey.pause()


def fill(valkey: Valkey) -> None:
    """The server takes no more writes, because its memory is full."""
    with valkey.client() as raw:
        raw.config_set("maxmemory", "1mb")


def make_replica(valkey: Valkey) -> None:
    """The server has become a read-only replica, as after a failover."""
    with valkey.client() as raw:
        raw.replicaof("127.0.0.1", "1")


def refill(valkey: Valkey) -> None:
    """The server has room again."""
    with valkey.client() as raw:
        raw.config_set("maxmemory", "0")


def promote(valkey: Valkey) -> None:
    """The server is the primary again."""
    with valkey.client() as raw:
        raw.replicaof("NO", "ONE")


OUTAGES: Mapping[str, tuple[Callable[[Valkey], None], Callable[[Valkey], object]]] = {
    "killed": (kill, Valkey.start),
    "standing still": (pause, Valkey.resume),
    "full": (fill, refill),
    "read-only": (make_replica, promote),
}


@pytest.fixture(params=OUTAGES)
def outage(platform: Platform, request: pytest.FixtureRequest) -> Iterator[Callable[[], Callable[[], object]]]:
    """Begins an outage, and returns what ends it; it is over after the test in any case."""
    begin, end = OUTAGES[request.param]
    pending: list[Callable[[], object]] = []

    def away() -> Callable[[], object]:
        begin(platform.valkey)
        pending.append(lambda: end(platform.valkey))
        return back

    def back() -> object:
        return pending.pop()()

    yield away
    if pending:
        back()


def timed(send: Callable[[], Reply]) -> tuple[Reply, float]:
    """The reply, and the seconds it took."""
    start = time.monotonic()
    return send(), time.monotonic() - start


def test_every_client_hears_in_time_that_the_store_is_away(
    client: Client, platform: Platform, outage: Callable[[], Callable[[], object]]
) -> None:
    """C20: an error with the request's id and when to come back; no handle; and all is well afterwards."""
    parked = client.start("fragile", {"fault": ""})
    client.wait_for(parked, "input_required")
    back = outage()
    requests: list[Callable[[Client], Reply]] = [
        lambda one: one.call("quick"),
        lambda one: one.update(parked, {"go": GO_ON}),
    ]

    def ask(send: Callable[[Client], Reply]) -> tuple[Reply, float]:
        with platform.client() as own:
            return timed(lambda: send(own))

    with ThreadPoolExecutor(6) as threads:
        replies = list(threads.map(ask, requests * 3))
    for reply, seconds in replies:
        assert (reply.status, reply.error["code"], reply.body["id"]) == (503, -32603, 1)
        assert int(reply.headers["Retry-After"]) > 0
        assert seconds < DOOR_SECONDS

    back()
    wait_until(lambda: client.get(parked).status == 200, 10.0, "an answer")
    client.update(parked, {"go": GO_ON})  # a server that stood still may have heard of it before
    assert client.wait_for(parked, timeout=30.0)["result"]["structuredContent"] == ["first", "second"]
    assert client.wait_for(client.start("quick"), timeout=30.0)["status"] == "completed"


def test_a_job_that_runs_through_an_outage_longer_than_its_lease_loses_nothing(
    client: Client, ledger: Ledger, outage: Callable[[], Callable[[], object]]
) -> None:
    """C18: it waits with what it has to write, and nobody runs beside it once the store is back."""
    task_id = client.start("steps", {"count": 3, "seconds": 1.0})
    wait_until(lambda: ledger.count(task_id, "step-1-begun"), 20.0, "the second step")
    back = outage()
    wait_until(lambda: ledger.count(task_id, "step-1"), 20.0, "the end of the second step")
    time_passes(3.0)
    back()
    task = wait_for_ending(client, task_id)
    assert task["result"]["structuredContent"] == [0, 1, 4]
    noted = [what for what, _ in ledger.entries(task_id)]
    assert noted == [f"step-{number}{end}" for number in range(3) for end in ("-begun", "")]
    assert {run for _, run in ledger.entries(task_id)} == {1}


def test_a_store_that_restarts_three_times_under_load_loses_nothing(client: Client, platform: Platform) -> None:
    """C18: five tasks run, five wait; the worker stays, and takes new work afterwards."""
    running = [client.start("steps", {"count": 4, "seconds": 0.5}) for _ in range(5)]
    waiting = [client.start("fragile", {"fault": ""}) for _ in range(5)]
    for _ in range(3):
        platform.valkey.kill()
        platform.valkey.start()
        time_passes(1.0)
    for task_id in waiting:
        until_parked(client, task_id)
        client.update(task_id, {"go": GO_ON})
    for task_id in running:
        assert wait_for_ending(client, task_id)["result"]["structuredContent"] == [0, 1, 4, 9]
    for task_id in waiting:
        assert wait_for_ending(client, task_id)["result"]["structuredContent"] == ["first", "second"]
    (worker,) = platform.workers
    assert worker.is_running


def until_parked(client: Client, task_id: str) -> None:
    """The task waits for its input."""
    wait_until(lambda: client.get(task_id).body.get("result", {}).get("status") == "input_required", 40.0, task_id)


def wait_for_ending(client: Client, task_id: str) -> Json:
    """The task once it is terminal, through answers of a store that is only just back."""

    def ended() -> Json | None:
        task = client.get(task_id).body.get("result", {})
        return task if task.get("status") in ("completed", "failed", "cancelled") else None

    task = wait_until(ended, 40.0, f"the end of {task_id}")
    assert task is not None
    return task


def time_passes(seconds: float) -> None:
    """As much time has passed, for what has to outlast a lease."""
    end = time.monotonic() + seconds
    wait_until(lambda: time.monotonic() > end, seconds + 5)
