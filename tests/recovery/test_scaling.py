"""A pool that is made smaller while there is work ends no run by it."""

import pytest

from tests.e2e.ledger import LEDGER, Ledger
from tests.support.client import Client
from tests.support.platform import Platform

BURSTS = 8


@pytest.fixture
def platform(ledger: Ledger) -> Platform:
    """A store and a front door of its own; what its tools did stands in the ledger."""
    return Platform(env={LEDGER: str(ledger.path), "AUTOSCALE_KEEPALIVE": "0.3"})


def burst(client: Client) -> list[str]:
    """Six tasks at once, each of which works for a moment."""
    return [client.start("sleep", {"seconds": 0.3}) for _ in range(6)]


def check_each_ran_once(client: Client, ledger: Ledger, tasks: list[str]) -> None:
    """Every task completed in its first run."""
    assert [client.wait_for(task_id)["status"] for task_id in tasks] == ["completed"] * len(tasks)
    assert [ledger.count(task_id, "begun") for task_id in tasks] == [1] * len(tasks)


def test_bursts_on_a_pool_that_scales_by_itself_end_no_run(platform: Platform, ledger: Ledger) -> None:
    """K4.6: each burst comes while the processes of the last one are being ended."""
    with platform.start(arguments=("--autoscale=6,1",)), platform.client() as client:
        [worker] = platform.workers
        for _ in range(BURSTS):
            check_each_ran_once(client, ledger, burst(client))
        assert worker.log.count("Scaling down") >= 3
        assert "WorkerLost" not in worker.log
