"""Two inputs at once, answered in every order and more than once."""

from tests.e2e.ledger import Ledger
from tests.support.client import Client


def value(text: str) -> dict[str, object]:
    """An answer that gives a value."""
    return {"action": "accept", "content": {"value": text}}


def test_the_job_resumes_once_when_the_last_of_two_answers_has_come(client: Client, ledger: Ledger) -> None:
    """TASK-8"""
    task_id = client.start("ask_two")
    parked = client.wait_for(task_id, "input_required")
    asked = parked["inputRequests"]
    assert list(asked) == ["first", "second"]

    client.update(task_id, {"second": value("two")})
    half = client.get(task_id).result
    assert half["status"] == "input_required"
    assert half["inputRequests"] == {"first": asked["first"]}
    assert ledger.entries(task_id) == []

    client.update(task_id, {"first": value("one")})
    assert client.wait_for(task_id)["result"]["content"] == [{"type": "text", "text": "one two"}]
    assert ledger.entries(task_id) == [("after", 2)]


def test_both_answers_may_come_together(client: Client, ledger: Ledger) -> None:
    """TASK-8"""
    task_id = client.start("ask_two")
    client.wait_for(task_id, "input_required")
    client.update(task_id, {"first": value("one"), "second": {"action": "cancel"}})
    assert client.wait_for(task_id)["result"]["content"] == [{"type": "text", "text": "one cancel"}]
    assert ledger.entries(task_id) == [("after", 2)]


def test_unknown_and_repeated_keys_change_nothing(client: Client, ledger: Ledger) -> None:
    """TASK-8"""
    task_id = client.start("ask_two")
    parked = client.wait_for(task_id, "input_required")
    acknowledged = client.update(task_id, {"third": value("three")}).result
    assert client.get(task_id).result == parked

    client.update(task_id, {"first": value("one"), "third": value("three")})
    half = client.get(task_id).result
    assert client.update(task_id, {"first": value("another")}).result == acknowledged
    assert client.get(task_id).result == half

    client.update(task_id, {"first": value("yet another"), "second": value("two")})
    ended = client.wait_for(task_id)
    assert ended["result"]["content"] == [{"type": "text", "text": "one two"}]
    assert client.update(task_id, {"second": value("too late")}).result == acknowledged
    assert client.get(task_id).result == ended
    assert ledger.entries(task_id) == [("after", 2)]
