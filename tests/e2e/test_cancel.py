"""A cancel at each point of a task's life, and each of them twice."""

from typing import Any

from tests.e2e.ledger import Ledger
from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.waiting import wait_until

META = {"io.modelcontextprotocol/serverInfo": {"name": "coatcheck", "version": "0.1.0"}}
ACKNOWLEDGEMENT = {"resultType": "complete", "_meta": META}


def cancel_twice(client: Client, task_id: str) -> dict[str, Any]:
    """The task after the second of two acknowledged cancels."""
    assert client.cancel(task_id).result == ACKNOWLEDGEMENT
    assert client.cancel(task_id).result == ACKNOWLEDGEMENT
    task: dict[str, Any] = client.get(task_id).result
    return task


def test_a_queued_task_is_cancelled_at_once_and_never_runs(client: Client, platform: Platform, ledger: Ledger) -> None:
    """TASK-9"""
    (worker,) = platform.workers
    worker.stop()
    try:
        task_id = client.start("quick")
        cancelled = cancel_twice(client, task_id)
        assert cancelled["status"] == "cancelled"
    finally:
        platform.begin(worker)
    # Messages come in order: when this one has run, the other's was met too.
    client.wait_for(client.start("quick"))
    assert ledger.entries(task_id) == []
    assert client.get(task_id).result == cancelled


def test_a_running_job_stops_at_its_next_checkpoint(client: Client, ledger: Ledger) -> None:
    """TASK-9"""
    task_id = client.start("sleep")
    wait_until(lambda: ledger.count(task_id, "begun"), what="the run")
    cancel_twice(client, task_id)
    cancelled = client.wait_for(task_id)
    assert cancelled["status"] == "cancelled"
    assert "result" not in cancelled
    assert ledger.entries(task_id) == [("begun", 1), ("cancelled", 1)]


def test_a_parked_task_is_cancelled_at_once_and_never_resumes(client: Client, ledger: Ledger) -> None:
    """TASK-9, C81"""
    task_id = client.start("ask_one")
    client.wait_for(task_id, "input_required")
    cancelled = cancel_twice(client, task_id)
    assert cancelled["status"] == "cancelled"
    assert "inputRequests" not in cancelled
    answer = {"name": {"action": "accept", "content": {"name": "Ada"}}}
    assert client.update(task_id, answer).result == ACKNOWLEDGEMENT
    client.wait_for(client.start("quick"))
    assert client.get(task_id).result == cancelled
    assert ledger.entries(task_id) == [("before", 1)]


def test_a_finished_task_is_left_as_it_is(client: Client) -> None:
    """TASK-9"""
    task_id = client.start("quick")
    completed = client.wait_for(task_id)
    assert completed["status"] == "completed"
    assert cancel_twice(client, task_id) == completed
