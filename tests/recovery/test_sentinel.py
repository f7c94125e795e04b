"""Redis behind Sentinel: its master is lost, a replica takes its place, and the work goes on."""

from collections.abc import Iterator

import pytest

from tests.e2e.ledger import LEDGER, Ledger
from tests.support.platform import Platform
from tests.support.ports import free_port
from tests.support.sentinel import Sentinel, follow
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until


@pytest.fixture
def servers() -> Iterator[tuple[Valkey, Sentinel]]:
    """A master with a replica, and the Sentinel that watches them."""
    fit = {"appendonly": "yes"}
    with Valkey(port=free_port(), **fit) as master, Valkey(port=free_port(), **fit) as replica:
        follow(replica, master)
        with Sentinel(master) as sentinel:
            sentinel.process.wait_for_line("+slave")
            yield master, sentinel


def test_a_failover_of_the_broker_loses_no_task_and_needs_no_restart(
    servers: tuple[Valkey, Sentinel], ledger: Ledger
) -> None:
    """C18"""
    master, sentinel = servers
    env = {LEDGER: str(ledger.path), "CELERY_BROKER_URL": sentinel.url, "CELERY_RESULT_BACKEND": sentinel.url}
    with Platform(tools="tests.e2e.tools", env=env).start() as platform, platform.client() as client:
        parked = client.start("ask_two")
        client.wait_for(parked, "input_required")
        running = client.start("sleep")
        wait_until(lambda: ledger.count(running, "begun"), what="its start")

        master.kill()
        meanwhile = [client.start("quick") for _ in range(5)]
        sentinel.process.wait_for_line("+switch-master", 60.0)

        for task_id in meanwhile:
            assert client.wait_for(task_id, timeout=60.0)["status"] == "completed"
            assert ledger.count(task_id, "ran") == 1
        client.update(parked, {key: {"action": "decline"} for key in ("first", "second")})
        assert client.wait_for(parked, timeout=60.0)["status"] == "completed"
        client.cancel(running)
        assert client.wait_for(running)["status"] == "cancelled"
        assert ledger.count(running, "begun") == 1
        assert client.wait_for(client.start("quick"))["status"] == "completed"
        assert [process.is_running for process in (*platform.webs, *platform.workers)] == [True, True]


def test_a_failover_of_store_and_broker_keeps_what_the_replica_had(
    servers: tuple[Valkey, Sentinel], ledger: Ledger
) -> None:
    """C18: a parked task is answered afterwards, and a run that was going on keeps its lease."""
    master, sentinel = servers
    env = {LEDGER: str(ledger.path), "REDIS_URL": sentinel.url, "COATCHECK_LEASE_SECONDS": "20"}
    with Platform(tools="tests.e2e.tools", env=env, valkey=master) as platform:
        platform.start()
        with platform.client() as client:
            parked = client.start("ask_two")
            client.wait_for(parked, "input_required")
            running = client.start("sleep", {"seconds": 100})
            wait_until(lambda: ledger.count(running, "begun"), what="its start")
            with master.client() as raw:
                assert raw.wait(1, 10_000) == 1

            master.kill()
            sentinel.process.wait_for_line("+switch-master", 60.0)

            wait_until(lambda: client.call("quick").status == 200, 30.0, "an answer")
            assert client.wait_for(client.start("quick"), timeout=60.0)["status"] == "completed"
            client.update(parked, {key: {"action": "decline"} for key in ("first", "second")})
            assert client.wait_for(parked, timeout=60.0)["status"] == "completed"
            client.cancel(running)
            assert client.wait_for(running, timeout=60.0)["status"] == "cancelled"
            assert ledger.entries(running) == [("begun", 1), ("cancelled", 1)]
