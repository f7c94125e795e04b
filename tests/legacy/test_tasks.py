"""The tasks of 2025-11-25, message by message."""

from pathlib import Path

import mcp_types._v2025_11_25 as models
import pytest
from redis import Redis

from coatcheck.tasks_store.keys import TaskKeys
from tests.legacy.older import DEFAULTS, RELATED, Older, accepted, questions
from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.waiting import wait_until


def test_a_call_becomes_a_task(older: Older, tmp_path: Path) -> None:
    """OLD-1, TASK-4, C71: it is nested, and has the names that it had."""
    reply = older.call("hold", {"path": str(tmp_path / "mark")}, task={"ttl": 60_000})
    assert reply.result.keys() == {"task"}
    task = reply.result["task"]
    assert task.keys() == {"taskId", "status", "statusMessage", "createdAt", "lastUpdatedAt", "ttl", "pollInterval"}
    assert (task["status"], task["ttl"], task["pollInterval"]) == ("working", 60_000, 2_000)
    models.CreateTaskResult.model_validate(reply.result)
    models.GetTaskResult.model_validate(older.get(task["taskId"]).result)
    assert older.cancel(task["taskId"]).result["status"] == "cancelled"


@pytest.mark.parametrize(
    ("task", "ttl", "poll"),
    [
        ({}, 7_200_000, 2_000),
        ({"ttl": None}, 7_200_000, 2_000),
        ({"ttl": 60_000}, 60_000, 2_000),
        ({"ttl": 60_000.5}, 60_000, 2_000),
        ({"ttl": 1_500}, 1_500, 1_500),
        ({"ttl": 60}, 1_000, 1_000),
        ({"ttl": 10**15}, 7_200_000, 2_000),
        ({"ttl": 60_000, "unknown": 1}, 60_000, 2_000),
    ],
)
def test_the_life_that_a_client_wants_is_no_longer_than_the_tools(
    older: Older, tmp_path: Path, task: dict[str, object], ttl: int, poll: int
) -> None:
    """OLD-1, TASK-11."""
    told = older.call("hold", {"path": str(tmp_path / "mark")}, task=task).result["task"]
    assert (told["ttl"], told["pollInterval"]) == (ttl, poll)
    older.cancel(told["taskId"])


@pytest.mark.parametrize("ttl", [0, -1, 0.5, "60", True, [], {}])
def test_a_life_that_is_none_is_refused(older: Older, ttl: object) -> None:
    """OLD-1."""
    assert older.call("choose", task={"ttl": ttl}).refusal == (200, -32602)


def test_arguments_that_do_not_fit_are_told_before_there_is_a_task(older: Older) -> None:
    """CALL-1."""
    told = older.call("hold", {"path": 7}, task={}).result
    assert told["isError"] is True
    assert "path" in told["content"][0]["text"]


def test_the_result_is_what_the_call_would_have_been_answered_with(older: Older) -> None:
    """OLD-1, TASK-6: every time that it is asked for, with the task that it is of."""
    for what in ("shown", "object", "told_error", "nothing"):
        task_id = older.start("give_later", {"what": what})
        first = older.outcome(task_id).result
        assert first == older.outcome(task_id).result
        assert first.pop("_meta") == {RELATED: {"taskId": task_id}}
        assert first == older.call("give_later", {"what": what}).result
        assert older.get(task_id).result["status"] == "completed"


@pytest.mark.parametrize("code", [-32603, -31999, -32602])
def test_the_error_is_what_the_call_would_have_been_answered_with(older: Older, code: int) -> None:
    """OLD-1, HTTP-6."""
    task_id = older.start("refuse_later", {"code": code})
    expected = {"code": code, "message": "refused", "data": {"why": "test"}}
    assert older.outcome(task_id).body["error"] == expected
    again = older.outcome(task_id)
    assert (again.status, again.body["error"]) == (200, expected)
    assert older.get(task_id).result["status"] == "failed"
    assert older.get(task_id).result["statusMessage"]
    assert older.call("refuse_later", {"code": code}).body["error"] == expected


def test_the_result_is_waited_for_and_what_is_asked_comes_meanwhile(platform: Platform, older: Older) -> None:
    """OLD-1: with the task that it is about; the task's changes are told in between."""
    task_id = older.start("ask_again")
    with older.stream("tasks/result", {"taskId": task_id}) as messages, Older(platform.url) as other:
        seen = []
        for message in messages:
            seen.append(message)
            if "method" in message and "id" in message:
                models.ElicitRequest.model_validate(message)
                assert message["params"]["_meta"] == {RELATED: {"taskId": task_id}}
                assert other.get(task_id).result["status"] == "input_required"
                other.respond(message["id"], accepted(text=f"word {len(seen)}"))
    told = [message for message in seen if "id" not in message]
    assert {message["method"] for message in told} == {"notifications/tasks/status"}
    assert {message["params"]["taskId"] for message in told} == {task_id}
    for message in told:
        models.TaskStatusNotification.model_validate(message)
    assert len(list(questions(iter(seen)))) == 3
    assert seen[-1]["result"]["_meta"] == {RELATED: {"taskId": task_id}}


def test_whoever_comes_back_is_asked_again(platform: Platform, older: Older) -> None:
    """OLD-1: what was asked on a stream that broke is asked on the next one, under the same id."""
    task_id = older.start("ask_page")
    asked = []
    for _ in range(2):
        with Older(platform.url) as leaving, leaving.stream("tasks/result", {"taskId": task_id}) as messages:
            asked.append(next(questions(messages)))
    assert asked[0] == asked[1]
    assert older.get(task_id).result["status"] == "input_required"
    older.respond(asked[0]["id"], {"action": "cancel"})
    assert older.outcome(task_id).text == "cancel"


def test_leaving_the_wait_for_a_result_cancels_nothing(platform: Platform, older: Older, tmp_path: Path) -> None:
    """OLD-1, CALL-5: a task is durable."""
    task_id = older.start("choose")
    older.wait_for(task_id, "input_required")
    with Older(platform.url) as leaving, leaving.stream("tasks/result", {"taskId": task_id}) as messages:
        asked = next(questions(messages))
    older.respond(asked["id"], accepted(size="s"))
    assert older.outcome(task_id).result["structuredContent"]["content"] == {"size": "s", **DEFAULTS}


def test_the_result_of_a_task_that_goes_on_needs_a_stream(older: Older) -> None:
    """HTTP-3, OLD-1."""
    task_id = older.start("ask_page")
    assert older.request("tasks/result", {"taskId": task_id}, Accept="application/json").status == 406
    older.cancel(task_id)
    ended = older.request("tasks/result", {"taskId": task_id}, Accept="application/json")
    assert ended.result["isError"] is True
    assert ended.result["_meta"] == {RELATED: {"taskId": task_id}}


def test_a_task_that_is_purged_ends_the_wait_for_its_result(platform: Platform, older: Older) -> None:
    """OLD-1, TASK-10."""
    task_id = older.start("ask_page")
    older.wait_for(task_id, "input_required")
    with older.stream("tasks/result", {"taskId": task_id}) as messages:
        next(questions(messages))
        with platform.valkey.client() as raw:
            forget(raw, task_id)
        assert next(messages)["error"]["code"] == -32602


def forget(raw: Redis, task_id: str) -> None:
    """Nothing is left of the task, and whoever follows it hears that something happened."""
    k = TaskKeys.of(task_id)
    for index in raw.scan_iter("coatcheck:*"):
        if raw.type(index) == b"zset":
            raw.zrem(index, task_id, task_id[1:])
    raw.delete(k.task, k.inputs, k.steps)
    raw.publish("coatcheck:feed", task_id)


def test_a_running_task_has_been_cancelled_when_that_is_answered(older: Older, tmp_path: Path) -> None:
    """OLD-1, TASK-9: and cannot be cancelled again."""
    mark = tmp_path / "mark"
    task_id = older.start("hold", {"path": str(mark)})
    wait_until(lambda: mark.exists() and "began" in mark.read_text(), 20.0, "the run")
    cancelled = older.cancel(task_id)
    models.CancelTaskResult.model_validate(cancelled.result)
    assert cancelled.result["status"] == "cancelled"
    assert "ended" in mark.read_text()
    assert older.get(task_id).result["status"] == "cancelled"
    assert older.cancel(task_id).refusal == (200, -32602)
    assert older.outcome(task_id).result["isError"] is True


def test_a_parked_task_is_cancelled_and_whoever_waits_is_told(older: Older, platform: Platform) -> None:
    """OLD-1, TASK-9."""
    task_id = older.start("ask_page")
    with older.stream("tasks/result", {"taskId": task_id}) as messages, Older(platform.url) as other:
        next(questions(messages))
        assert other.cancel(task_id).result["status"] == "cancelled"
        [*_, last] = messages
    assert last["result"]["isError"] is True


@pytest.mark.parametrize("ended", ["completed", "failed"])
def test_a_task_that_has_ended_cannot_be_cancelled(older: Older, ended: str) -> None:
    """OLD-1."""
    arguments = {"code": -32603} if ended == "failed" else {"what": "text"}
    task_id = older.start("refuse_later" if ended == "failed" else "give_later", arguments)
    older.wait_for(task_id, ended)
    assert older.cancel(task_id).refusal == (200, -32602)
    assert older.get(task_id).result["status"] == ended


@pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/cancel"])
@pytest.mark.parametrize("params", [{}, {"taskId": 7}, {"taskId": "x"}, {"taskId": "0" * 33}, {"taskId": "é" * 5000}])
def test_a_task_that_there_is_not_is_refused(older: Older, method: str, params: dict[str, object]) -> None:
    """OLD-1, TASK-10."""
    assert older.request(method, params).refusal == (200, -32602)


def test_tasks_are_listed_the_newest_first(platform: Platform, older: Older, client: Client) -> None:
    """OLD-1, OLD-2: of both eras, page by page."""
    made = [older.start("give_later", {"what": "text"}) for _ in range(51)] + [client.start("ask_page")]
    first = older.request("tasks/list").result
    models.ListTasksResult.model_validate(first)
    assert len(first["tasks"]) == 50
    second = older.request("tasks/list", {"cursor": first["nextCursor"]}).result
    found = [task["taskId"] for task in (*first["tasks"], *second["tasks"])]
    created = [task["createdAt"] for task in (*first["tasks"], *second["tasks"])]
    assert created == sorted(created, reverse=True)
    assert set(made) <= set(found)
    assert made[-1] in found[:2]  # two may come into being in the same millisecond
    assert older.request("tasks/list", {"cursor": "x"}).refusal == (200, -32602)
    assert older.request("tasks/list", {"cursor": 7}).refusal == (200, -32602)
    client.cancel(made[-1])
