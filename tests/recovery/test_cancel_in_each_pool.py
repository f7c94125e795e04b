"""Every kind of pool that Celery has keeps the same promises."""

from collections.abc import Iterator

import pytest

from tests.e2e.ledger import Ledger
from tests.recovery.tools import GO_ON
from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.waiting import wait_until


@pytest.fixture(scope="module", params=["prefork", "threads", "gevent", "solo"])
def platform(bare_platform: Platform, request: pytest.FixtureRequest) -> Iterator[Platform]:
    """The platform with one worker, whose pool is of this kind."""
    worker = bare_platform.start_worker(pool=request.param)
    yield bare_platform
    assert "Traceback" not in worker.log, worker.log
    assert worker.stop() == 0
    bare_platform.workers.remove(worker)


def test_a_job_runs_parks_and_goes_on(client: Client, ledger: Ledger) -> None:
    """C17"""
    task_id = client.start("fragile", {"fault": ""})
    client.wait_for(task_id, "input_required")
    client.update(task_id, {"go": GO_ON})
    assert client.wait_for(task_id)["result"]["structuredContent"] == ["first", "second"]
    assert ledger.count(task_id, "first begun") == ledger.count(task_id, "second begun") == 1


def test_a_running_job_stops_at_its_next_checkpoint(client: Client, ledger: Ledger) -> None:
    """C17: `finally` and `except Cancelled` run; nothing follows."""
    task_id = client.start("sleep")
    wait_until(lambda: ledger.count(task_id, "begun"), 20.0, "the run")
    client.cancel(task_id)
    assert client.wait_for(task_id)["status"] == "cancelled"
    assert ledger.entries(task_id) == [("begun", 1), ("cancelled", 1)]


def test_a_tool_that_raises_what_ends_threads_costs_no_place_in_the_pool(client: Client) -> None:
    """C6"""
    for _ in range(3):
        task = client.wait_for(client.start("ends_badly", {"how": "stray"}))
        assert (task["status"], task["result"]["isError"]) == ("completed", True)
    assert client.wait_for(client.start("quick"))["status"] == "completed"


def test_a_time_limit_holds_at_the_next_checkpoint(client: Client) -> None:
    """C6"""
    task = client.wait_for(client.start("reports_on"))
    assert task["error"] == {"code": -32603, "message": "The tool ran longer than its time limit"}


def test_a_job_that_takes_longer_than_its_lease_keeps_it(client: Client, ledger: Ledger) -> None:
    """C1"""
    task_id = client.start("sleep", {"seconds": 2.5})
    assert client.wait_for(task_id)["status"] == "completed"
    assert ledger.entries(task_id) == [("begun", 1), ("slept", 1)]
