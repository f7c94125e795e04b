"""Answers to what a task asks: who may be asked, what is taken, and what happens then."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from redis import Redis

from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.waiting import wait_until
from tests.web.door import text_result
from tests.web.form_filling import ACKNOWLEDGED, ANN, Json, accept, parked


def test_an_answer_resumes_the_job(client: Client) -> None:
    """TASK-7, TASK-8: input_required and back to working."""
    task = parked(client, "ask_person")
    assert client.update(task["taskId"], {"person": accept(ANN)}).result == ACKNOWLEDGED
    after = client.get(task["taskId"]).result
    assert after["status"] in ("working", "completed")
    assert "inputRequests" not in after
    ended = client.wait_for(task["taskId"])
    assert ended["result"]["structuredContent"] == {"action": "accept", "content": ANN}


def test_some_of_the_answers_leave_the_task_waiting_for_the_others(client: Client) -> None:
    """TASK-8."""
    task = parked(client, "multi_input")
    answer = {"action": "accept", "content": {"name": "Ann", "confirm": True}}
    assert client.update(task["taskId"], {"first": answer, "unknown": 7}).result == ACKNOWLEDGED
    after = client.get(task["taskId"]).result
    assert (after["status"], list(after["inputRequests"])) == ("input_required", ["second"])
    # Answered already: ignored, right or wrong, and sent twice.
    for repeated in ({"first": answer}, {"first": 7}, {"first": {"action": "cancel"}}, {}):
        assert client.update(task["taskId"], repeated).result == ACKNOWLEDGED
    assert client.get(task["taskId"]).result == after
    client.update(task["taskId"], {"second": {"action": "accept", "content": {"name": "Bob", "confirm": False}}})
    assert client.wait_for(task["taskId"])["result"] == text_result("Ann and Bob")


def test_answers_that_come_at_the_same_moment_resume_the_job_once(platform: Platform, client: Client) -> None:
    """TASK-8: through two processes."""
    answer = {"action": "accept", "content": {"name": "Ann", "confirm": True}}
    for _ in range(10):
        task = parked(client, "multi_input")

        def send(key: str, task_id: str = task["taskId"]) -> Json:
            with platform.client() as other:
                return other.update(task_id, {key: answer}).result

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(send, ["first", "second", "first", "second"])) == [ACKNOWLEDGED] * 4
        assert client.wait_for(task["taskId"])["result"] == text_result("Ann and Ann")


def test_a_key_is_never_used_twice(client: Client) -> None:
    """TASK-8, C78: a loop asks under new keys, and an answer of an earlier round means nothing in a later one."""
    task = parked(client, "ask_again")
    keys: list[str] = []
    for word in ("one", "two", "three"):
        [key] = task["inputRequests"]
        for old in keys:
            assert client.update(task["taskId"], {old: accept({"text": "old"})}).result == ACKNOWLEDGED
        assert client.get(task["taskId"]).result == task
        keys.append(key)
        client.update(task["taskId"], {key: accept({"text": word})})
        task = client.wait_for(task["taskId"], "input_required" if word != "three" else "completed")
    assert keys == ["word", "word#2", "word#3"]
    assert task["result"]["structuredContent"] == ["one", "two", "three"]


def test_an_answer_that_its_author_refuses_is_asked_again(client: Client) -> None:
    """TASK-8: under a new key, with the reason."""
    task = parked(client, "ask_checked")
    client.update(task["taskId"], {"name": accept({"name": "root"})})
    wait_until(lambda: client.get(task["taskId"]).result.get("inputRequests"), 20.0, "the second question")
    asked = client.get(task["taskId"]).result["inputRequests"]
    assert asked["name#2"]["params"]["message"].startswith("root is not a person")
    client.update(task["taskId"], {"name#2": accept({"name": "Ann"})})
    assert client.wait_for(task["taskId"])["result"] == text_result("Ann")


@pytest.mark.parametrize(
    ("answer", "given"),
    [
        ({"action": "decline"}, {"action": "decline", "content": {}}),
        ({"action": "cancel", "content": None}, {"action": "cancel", "content": {}}),
        ({"action": "decline", "content": {"junk": 1}}, {"action": "decline", "content": {}}),
        (accept({**ANN, "age": 18.0}), {"action": "accept", "content": {"name": "Ann", "age": 18}}),
        (accept({**ANN, "extra": 1}), {"action": "accept", "content": ANN}),
        (
            accept({**ANN, "colour": "red", "tags": ["a", "c"], "day": "2026-12-31"}),
            {"action": "accept", "content": {**ANN, "colour": "red", "tags": ["a", "c"], "day": "2026-12-31"}},
        ),
    ],
)
def test_a_right_answer_reaches_the_tool(client: Client, answer: Json, given: Json) -> None:
    """TASK-8, C82, C83: no and never mind are answers too; 18.0 is an integer; what was not asked is left out."""
    task = parked(client, "ask_person")
    assert client.update(task["taskId"], {"person": answer}).result == ACKNOWLEDGED
    ended = client.wait_for(task["taskId"])
    assert ended["result"]["structuredContent"] == given


def test_a_form_without_required_fields_may_be_left_empty(client: Client) -> None:
    """TASK-8, C83."""
    for answer in ({"action": "accept"}, {"action": "accept", "content": {}}):
        task = parked(client, "ask_optional")
        client.update(task["taskId"], {"extra": answer})
        given = client.wait_for(task["taskId"])["result"]["structuredContent"]
        assert given == {"action": "accept", "content": {}}


def test_a_wrong_answer_names_the_field_and_leaves_no_trace(client: Client, records: Redis) -> None:
    """TASK-8, C83: sent a hundred times it makes nothing grow; the question can still be answered."""
    task = parked(client, "ask_person")
    [record] = records.scan_iter(f"coatcheck:*:task:{task['taskId']}")
    size = records.memory_usage(record)
    for _ in range(100):
        refused = client.update(task["taskId"], {"person": accept({"name": "Ann", "age": "eighteen"})})
        assert (refused.status, refused.error["code"]) == (400, -32602)
        assert "age" in refused.error["message"]
        assert "eighteen" not in refused.error["message"]
    assert client.get(task["taskId"]).result == task
    assert records.memory_usage(record) == size
    client.update(task["taskId"], {"person": accept(ANN)})
    assert client.wait_for(task["taskId"])["status"] == "completed"


@pytest.mark.parametrize("end", ["completed", "failed", "cancelled"])
def test_an_answer_after_the_end_changes_nothing(client: Client, end: str) -> None:
    """TASK-7, TASK-8, TASK-9, C81: it is acknowledged, as is a cancel."""
    tool = {"completed": "failing_job", "failed": "protocol_error_job", "cancelled": "ask_person"}[end]
    task_id = client.start(tool)
    if end == "cancelled":
        client.wait_for(task_id, "input_required")
        client.cancel(task_id)
    task = client.wait_for(task_id)
    assert task["status"] == end
    assert "inputRequests" not in task
    assert client.update(task_id, {"person": accept(ANN)}).result == ACKNOWLEDGED
    assert client.update(task_id, {"person": 7}).result == ACKNOWLEDGED
    assert client.cancel(task_id).result == ACKNOWLEDGED
    assert client.get(task_id).result == task


@pytest.mark.parametrize(
    ("tool", "capabilities", "required"),
    [
        ("ask_person", {}, {"elicitation": {"form": {}}}),
        ("ask_page", {"elicitation": {"form": {}}}, {"elicitation": {"url": {}}}),
        ("ask_model", {"elicitation": {}}, {"sampling": {}}),
    ],
)
def test_a_task_does_not_ask_what_its_client_did_not_declare(
    platform: Platform, tool: str, capabilities: Json, required: Json
) -> None:
    """MRTR-3, TASK-7, C84: it fails, and says what was missing."""
    tasks: Json = {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    with platform.client(capabilities={**tasks, **capabilities}) as client:
        task = client.wait_for(client.start(tool))
    assert (task["status"], task["error"]["code"]) == ("failed", -32021)
    assert task["error"]["data"] == {"requiredCapabilities": required}
