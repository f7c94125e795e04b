"""The shortest way through the whole platform: each kind of tool once."""

import pytest

from tests.e2e.ledger import Ledger
from tests.support.client import Client
from tests.support.platform import Platform


def test_a_call_becomes_a_task_that_completes(client: Client, ledger: Ledger) -> None:
    """TASK-3, TASK-6"""
    task_id = client.start("quick", {"text": "hi"})
    task = client.wait_for(task_id)
    assert task["status"] == "completed"
    assert task["result"]["content"] == [{"type": "text", "text": "hi"}]
    assert ledger.entries(task_id) == [("ran", 1)]


def test_a_parked_job_goes_on_with_the_answer_and_repeats_no_step(client: Client, ledger: Ledger) -> None:
    """TASK-8"""
    task_id = client.start("ask_one")
    parked = client.wait_for(task_id, "input_required")
    assert list(parked["inputRequests"]) == ["name"]
    client.update(task_id, {"name": {"action": "accept", "content": {"name": "Ada"}}})
    task = client.wait_for(task_id)
    assert task["result"]["content"] == [{"type": "text", "text": "Hello, Ada!"}]
    assert ledger.entries(task_id) == [("before", 1), ("after", 2)]


def test_two_inputs_may_be_answered_one_by_one(client: Client) -> None:
    """TASK-8"""
    task_id = client.start("ask_two")
    client.wait_for(task_id, "input_required")
    client.update(task_id, {"second": {"action": "decline"}})
    assert list(client.get(task_id).result["inputRequests"]) == ["first"]
    client.update(task_id, {"first": {"action": "accept", "content": {"value": "one"}}})
    assert client.wait_for(task_id)["result"]["content"] == [{"type": "text", "text": "one decline"}]


def test_a_running_job_stops_at_its_next_checkpoint(client: Client, ledger: Ledger) -> None:
    """TASK-9"""
    task_id = client.start("sleep")
    client.wait_for(task_id, "working")
    client.cancel(task_id)
    assert client.wait_for(task_id)["status"] == "cancelled"
    assert ledger.count(task_id, "slept") == 0


@pytest.mark.parametrize(
    ("tool", "status", "code"),
    [("tell_the_model", "completed", None), ("fail_by_protocol", "failed", -31999)],
)
def test_a_failure_is_told_as_what_it_is(client: Client, tool: str, status: str, code: int | None) -> None:
    """CALL-3, TASK-7"""
    task = client.wait_for(client.start(tool))
    assert task["status"] == status
    assert task.get("error", {}).get("code") == code


def test_a_crash_tells_nothing_of_what_was_inside(client: Client) -> None:
    """CALL-3"""
    task = client.wait_for(client.start("crash"))
    assert "4711" not in str(task)
    assert "RuntimeError" not in str(task)


def test_a_job_that_kills_its_worker_is_failed_after_the_last_run(
    client: Client, platform: Platform, ledger: Ledger
) -> None:
    task_id = client.start("leave")
    assert client.wait_for(task_id, timeout=30.0)["status"] == "failed"
    assert ledger.count(task_id, "begun") == 3
