"""Parked tasks hold nothing but their records: no worker, no message, no memory of a worker."""

from collections.abc import Iterator

import psutil
import pytest

from tests.e2e.ledger import LEDGER, Ledger
from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.waiting import wait_until

FEW, MANY = 100, 1_000
"""Parked tasks before each of the two measurements."""

ALLOWANCE = 4 * 2**20
"""Bytes by which a worker and its two processes may grow in between for reasons of their own, such as the counters of
Celery. If each parked task kept 5 kB anywhere in them, it would be more."""

BROKER = "coatcheck:broker:"


@pytest.fixture
def small(ledger: Ledger) -> Iterator[Platform]:
    """A platform with one worker of two processes."""
    # A message is not sent again while its task waits behind a thousand others.
    with Platform(env={LEDGER: str(ledger.path), "COATCHECK_RESEND_SECONDS": "60"}) as platform:
        yield platform.start(concurrency=2)


def park(client: Client, count: int) -> list[str]:
    """So many more tasks wait for their answers."""
    task_ids = [client.start("ask_two") for _ in range(count)]
    for task_id in task_ids:
        client.wait_for(task_id, "input_required", timeout=60.0)
    return task_ids


def memory(platform: Platform) -> int:
    """The bytes that the worker and its pool keep resident."""
    worker = psutil.Process(platform.workers[0].pid)
    return sum(process.memory_info().rss for process in [worker, *worker.children(recursive=True)])


def messages(platform: Platform) -> int:
    """How many messages are queued at the broker, or delivered and not acknowledged."""
    with platform.valkey.client() as raw:
        queued, unacknowledged = raw.llen(f"{BROKER}coatcheck"), raw.hlen(f"{BROKER}unacked")
    assert isinstance(queued, int)
    assert isinstance(unacknowledged, int)
    return queued + unacknowledged


def test_a_thousand_parked_tasks_hold_no_worker_no_message_and_no_memory(small: Platform, ledger: Ledger) -> None:
    """C3, C109"""
    with small.client() as client:
        park(client, FEW)
        with_few = memory(small)
        task_ids = park(client, MANY - FEW)
        wait_until(lambda: messages(small) == 0, what="an empty queue")
        assert memory(small) - with_few < ALLOWANCE

        sleeper = client.start("sleep")
        wait_until(lambda: ledger.count(sleeper, "begun"), what="the run that takes one of the two processes")
        quick = client.start("quick", {"text": "at once"})
        assert client.wait_for(quick, timeout=5.0)["result"]["content"] == [{"type": "text", "text": "at once"}]
        assert client.get(sleeper).result["status"] == "working"
        client.cancel(sleeper)
        assert client.get(task_ids[0]).result["status"] == "input_required"
