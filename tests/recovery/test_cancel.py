"""A cancel is not forgotten, whoever was there to hear it."""

from collections.abc import Iterator

import pytest

from tests.e2e.ledger import LEDGER, Ledger
from tests.recovery.conftest import TOOLS
from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.waiting import wait_until


@pytest.fixture(scope="module")
def platform(ledger: Ledger) -> Iterator[Platform]:
    """A platform with one worker of one process, and little grace for jobs that ignore a cancel."""
    env = {LEDGER: str(ledger.path), "COATCHECK_CANCEL_GRACE_SECONDS": "1"}
    with Platform(tools=TOOLS, env=env) as platform:
        yield platform.start(concurrency=1)


def test_what_was_cancelled_while_no_worker_was_there_never_starts(
    client: Client, platform: Platform, ledger: Ledger
) -> None:
    """C14: revoke by message would be lost on all of them."""
    (worker,) = platform.workers
    worker.stop()
    task_id = client.start("quick")
    client.cancel(task_id)
    assert client.get(task_id).result["status"] == "cancelled"
    platform.begin(worker)
    assert client.wait_for(client.start("quick"))["status"] == "completed"
    assert client.get(task_id).result["status"] == "cancelled"
    assert ledger.entries(task_id) == []


def test_what_was_cancelled_in_the_queue_never_starts_although_the_worker_was_restarted(
    client: Client, platform: Platform, ledger: Ledger
) -> None:
    """C14, C15"""
    (worker,) = platform.workers
    before = client.start("two_steps", {"seconds": 1.0})
    wait_until(lambda: ledger.count(before, "slow begun"), 20.0, "the run")
    reserved = [client.start("quick") for _ in range(4)]
    for task_id in reserved:
        client.cancel(task_id)
    assert {client.get(task_id).result["status"] for task_id in reserved} == {"cancelled"}
    platform.restart(worker)
    assert client.wait_for(before)["status"] == "completed"
    assert client.wait_for(client.start("quick"))["status"] == "completed"
    assert [ledger.entries(task_id) for task_id in reserved] == [[], [], [], []]


def test_a_job_that_swallows_its_cancel_is_fenced_off(client: Client, ledger: Ledger) -> None:
    task_id = client.start("stubborn", {"seconds": 4.0})
    wait_until(lambda: ledger.count(task_id, "begun"), 20.0, "the run")
    client.cancel(task_id)
    cancelled = client.wait_for(task_id)
    assert cancelled["status"] == "cancelled"
    assert ledger.count(task_id, "heard")
    assert client.wait_for(client.start("quick"))["status"] == "completed"  # the process is free again
    assert client.get(task_id).result == cancelled
