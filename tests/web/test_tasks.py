"""Tasks as a client sees them, from the handle to the end and after it."""

import re
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from redis import Redis

from coatcheck.tasks_store import ANONYMOUS, NewTask, Owner, Patience, StoreSettings, TaskStore
from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.ports import free_port
from tests.support.waiting import wait_until
from tests.web.door import SERVER_INFO, Door, request, text_result
from tests.web.form_filling import ACKNOWLEDGED, ANN, Json, accept, parked

TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

PERSON_REQUEST_KEYS = {"mode", "message", "requestedSchema"}

SHORT_MS = 2_000
"""The time to live of the tool `short_lived`."""

KEPT_MS = 3_000
"""`COATCHECK_KEEP_SECONDS` of the platform under test."""


# The handle


@pytest.mark.parametrize(("tool", "arguments", "ttl_ms", "poll_ms"), [
    ("hold", {"path": "/dev/null"}, 7_200_000, 2_000),
    ("failing_job", {}, 86_400_000, 1_000),
    ("ask_person", {}, 86_400_000, 1_000),
])  # fmt: skip
def test_a_handle_is_flat_and_whole(client: Client, tool: str, arguments: Json, ttl_ms: int, poll_ms: int) -> None:
    """TASK-3, C71, C90: hours and seconds of the author are milliseconds on the wire."""
    created = client.call(tool, arguments).result
    assert created == {
        "resultType": "task",
        "taskId": created["taskId"],
        "status": "working",
        "statusMessage": "Waiting for a worker",
        "createdAt": created["createdAt"],
        "lastUpdatedAt": created["createdAt"],
        "ttlMs": ttl_ms,
        "pollIntervalMs": poll_ms,
        "_meta": SERVER_INFO,
    }
    assert TIMESTAMP.fullmatch(created["createdAt"])
    client.cancel(created["taskId"])


def test_an_id_cannot_be_guessed(client: Client) -> None:
    """TASK-5: opaque, fit for a header, and as random as it is long."""
    ids = [client.start("failing_job") for _ in range(50)]
    assert len(set(ids)) == 50
    assert all(re.fullmatch(r"[0-9a-f]{32,}", one) for one in ids)
    columns = [set(column) for column in zip(*ids, strict=True)]
    assert sum(len(column) > 4 for column in columns) >= 32


def test_a_handle_can_be_read_at_once_by_any_front_door(narrow: Door, client: Client) -> None:
    """TASK-4, C72."""
    for _ in range(50):
        task_id = client.start("failing_job")
        read = narrow.post(request("tasks/get", {"taskId": task_id}))
        assert (read.status, read.json["result"]["taskId"]) == (200, task_id)


def test_a_handle_survives_the_front_door_that_gave_it(platform: Platform, client: Client, tmp_path: Path) -> None:
    """TASK-4, C72: it is killed as soon as the handle is out, and the work is done all the same."""
    port = free_port()
    web = platform.start_web(port=port)
    door = Door(port)
    call = request("tools/call", {"name": "leave_mark", "arguments": {"path": str(tmp_path / "mark")}})
    created = wait_until(lambda: _answer_of(door, call), 20.0, "the other front door")
    web.kill()
    platform.webs.remove(web)
    task = client.wait_for(created["result"]["taskId"])
    assert (task["status"], (tmp_path / "mark").read_text()) == ("completed", "ran\n")


def _answer_of(door: Door, message: Mapping[str, Any]) -> Any:
    try:
        return door.post(message).json
    except OSError:
        return None


# The task as it stands


def test_a_task_shows_what_belongs_to_its_status_and_nothing_else(client: Client, tmp_path: Path) -> None:
    """TASK-6, TASK-7, C71, C86: in each of the five statuses."""
    always = {"resultType", "taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs", "pollIntervalMs", "_meta"}
    running = client.start("hold", {"path": str(tmp_path / "mark")})
    wait_until((tmp_path / "mark").exists, 20.0, "the run")
    shown = {"working": client.get(running).result, "input_required": parked(client, "ask_person")}
    client.cancel(running)
    shown["cancelled"] = client.wait_for(running)
    shown["completed"] = client.wait_for(client.start("failing_job"))
    shown["failed"] = client.wait_for(client.start("protocol_error_job"))
    assert {status: set(task) - always - {"statusMessage"} for status, task in shown.items()} == {
        "working": set(),
        "input_required": {"inputRequests"},
        "cancelled": set(),
        "completed": {"result"},
        "failed": {"error"},
    }
    for status, task in shown.items():
        assert always <= set(task)
        assert (task["resultType"], task["status"], task["_meta"]) == ("complete", status, SERVER_INFO)
        assert TIMESTAMP.fullmatch(task["createdAt"])
        assert TIMESTAMP.fullmatch(task["lastUpdatedAt"])
    assert shown["completed"]["result"] == text_result("This job always fails", is_error=True)
    assert shown["failed"]["error"] == {"code": -32603, "message": "This job fails in the protocol's terms"}
    assert shown["failed"]["statusMessage"]
    assert set(shown["input_required"]["inputRequests"]["person"]["params"]) == PERSON_REQUEST_KEYS


@pytest.mark.parametrize("code", [-32602, -32603, 7])
def test_an_error_of_a_task_is_the_authors(client: Client, code: int) -> None:
    """TASK-6, TASK-7, C86."""
    task = client.wait_for(client.start("refuse_later", {"code": code}))
    assert (task["status"], task["error"]) == ("failed", {"code": code, "message": "refused", "data": {"why": "test"}})


def test_looking_changes_nothing(client: Client) -> None:
    """TASK-6, TASK-12: however often, and the time of the last change stays that of the last change."""
    task = parked(client, "ask_person")
    assert [client.get(task["taskId"]).result for _ in range(50)] == [task] * 50
    done = client.wait_for(client.start("failing_job"))
    assert [client.get(done["taskId"]).result for _ in range(50)] == [done] * 50


def test_progress_is_a_message_and_never_goes_back(client: Client) -> None:
    """TASK-6, C97: no notification is sent for a task; what was said last is gone when it ends."""
    reply = client.call("report", meta={"progressToken": "p"})
    assert (reply.notifications, reply.result["resultType"]) == ((), "task")
    task_id = reply.result["taskId"]
    seen: list[Json] = []

    def has_ended() -> bool:
        seen.append(client.get(task_id).result)
        return bool(seen[-1]["status"] != "working")

    wait_until(has_ended, 20.0, "the end")
    assert [task["lastUpdatedAt"] for task in seen] == sorted(task["lastUpdatedAt"] for task in seen)
    assert not seen[-1].get("statusMessage", "").startswith("at ")
    assert seen[-1]["result"] == text_result("reported")


# Cancelling


def test_queued_work_never_starts_after_a_cancel(client: Client, tmp_path: Path) -> None:
    """TASK-9: it is cancelled at once."""
    held = [client.start("hold", {"path": str(tmp_path / f"held-{n}")}) for n in range(4)]
    wait_until(lambda: len(list(tmp_path.iterdir())) == 4, 20.0, "busy processes")
    queued = client.start("leave_mark", {"path": str(tmp_path / "mark")})
    assert client.cancel(queued).result == ACKNOWLEDGED
    assert client.get(queued).result["status"] == "cancelled"
    for task_id in held:
        client.cancel(task_id)
        client.wait_for(task_id)
    client.wait_for(client.start("leave_mark", {"path": str(tmp_path / "after")}))
    assert not (tmp_path / "mark").exists()


def test_parked_work_ends_at_once(client: Client) -> None:
    """TASK-9."""
    task = parked(client, "ask_person")
    assert client.cancel(task["taskId"]).result == ACKNOWLEDGED
    after = client.get(task["taskId"]).result
    assert after["status"] == "cancelled"
    assert "inputRequests" not in after
    assert client.cancel(task["taskId"]).result == ACKNOWLEDGED
    assert client.get(task["taskId"]).result == after


def test_running_work_stops_at_its_next_checkpoint(client: Client, tmp_path: Path) -> None:
    """TASK-9: and cleans up behind itself."""
    mark = tmp_path / "mark"
    task_id = client.start("hold", {"path": str(mark)})
    wait_until(mark.exists, 20.0, "the run")
    for _ in range(3):
        assert client.cancel(task_id).result == ACKNOWLEDGED
    assert client.wait_for(task_id)["status"] == "cancelled"
    assert mark.read_text() == "began\nended\n"


def test_a_notification_cancels_no_task(door: Door, client: Client) -> None:
    """TASK-9, C95: whatever it names."""
    task = parked(client, "ask_person")
    for request_id in (1, task["taskId"]):
        notification = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}
        assert door.post(notification).status == 202
    assert client.get(task["taskId"]).result == task


# Whose task it is


def test_every_id_that_is_not_a_task_of_the_caller_gets_the_same_words(platform: Platform, client: Client) -> None:
    """TASK-10, TASK-13: unknown, malformed and another owner's."""
    store = TaskStore(StoreSettings(redis_url=platform.valkey.url), Patience.DOOR)
    foreign, _ = store.create(NewTask(owner=Owner("other", "ann"), tool="ask_person", arguments=b"{}"))
    ids = [foreign.task_id, "0" * 33, "x", "", "../etc", "x" * 3_000]
    answers: list[tuple[int, Json]] = []
    for task_id in ids:
        replies = (client.get(task_id), client.cancel(task_id), client.update(task_id, {"person": accept(ANN)}))
        answers += [(reply.status, reply.error) for reply in replies]
    assert [answer for answer in answers if answer != answers[0]] == []
    assert (answers[0][0], answers[0][1]["code"]) == (400, -32602)
    assert store.get(Owner("other", "ann"), foreign.task_id) == foreign
    store.cancel(Owner("other", "ann"), foreign.task_id)
    store.close()


# How long it lives


@pytest.mark.parametrize("how", ["runs", "parks"])
def test_a_task_that_outlives_its_time_is_failed_and_later_gone(client: Client, records: Redis, how: str) -> None:
    """TASK-11, C88, C81: never early, readable for a while, and then nothing is left of it."""
    created = client.call("short_lived", {"how": how}).result
    assert created["ttlMs"] == SHORT_MS
    task = client.wait_for(created["taskId"])
    assert (task["status"], task["error"]["code"]) == ("failed", -32603)
    assert ("input was not given" in task["statusMessage"]) == (how == "parks")
    life = _instant(task["lastUpdatedAt"]) - _instant(task["createdAt"])
    assert life.total_seconds() * 1000 >= SHORT_MS
    wait_until(lambda: client.get(task["taskId"]).status == 400, 20.0, "its end")
    gone = client.get(task["taskId"])
    assert gone.error["code"] == -32602
    assert client.update(task["taskId"], {"anything": accept({"text": "x"})}).error == gone.error
    assert list(records.scan_iter(f"coatcheck:*:{task['taskId']}")) == []


def test_a_result_stays_readable_for_a_while_after_a_short_life(client: Client) -> None:
    """TASK-11, C88: `ttlMs` counts from the creation, and grows so that no result is gone before it was read."""
    task = client.wait_for(client.start("short_lived", {"how": "ends"}))
    life = _instant(task["lastUpdatedAt"]) - _instant(task["createdAt"])
    assert task["result"] == text_result("in time")
    assert task["ttlMs"] == max(SHORT_MS, round(life.total_seconds() * 1000) + KEPT_MS)


def test_polling_faster_than_told_is_served(client: Client) -> None:
    """TASK-12."""
    task = parked(client, "ask_person")
    begun = time.monotonic()
    assert {client.get(task["taskId"]).status for _ in range(100)} == {200}
    assert time.monotonic() - begun < 100 * task["pollIntervalMs"] / 1000


def test_every_method_looks_the_owner_up_anew(client: Client, records: Redis) -> None:
    """TASK-13: a task that changes hands is gone for who had it."""
    task = parked(client, "ask_person")
    [name] = records.scan_iter(f"coatcheck:*:task:{task['taskId']}")
    owner = records.hget(name, "owner")
    assert owner is not None
    records.hset(name, "owner", Owner("other", "bob").key)
    for reply in (client.get(task["taskId"]), client.cancel(task["taskId"]), client.update(task["taskId"], {})):
        assert (reply.status, reply.error["code"]) == (400, -32602)
    records.hset(name, "owner", owner)
    assert client.get(task["taskId"]).result == task


def test_a_task_that_was_made_before_its_tool_was_removed_is_failed(platform: Platform, client: Client) -> None:
    """C86: and says so."""
    store = TaskStore(StoreSettings(redis_url=platform.valkey.url, resend_ms=100), Patience.DOOR)
    made, _ = store.create(NewTask(owner=ANONYMOUS, tool="removed", arguments=b"{}"))
    store.close()
    task = client.wait_for(made.task_id)
    assert (task["status"], task["error"]["code"]) == ("failed", -32603)
    assert task["statusMessage"]


def _instant(timestamp: str) -> datetime:
    return datetime.fromisoformat(timestamp)
