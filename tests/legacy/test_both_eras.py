"""One task, seen from both eras."""

from pathlib import Path

from tests.legacy.older import DEFAULTS, Older, accepted, questions
from tests.support.client import Client
from tests.support.platform import Platform


def test_both_see_the_same_task(older: Older, client: Client) -> None:
    """OLD-2: in every state, each in its own words."""
    for task_id in (older.start("ask_person"), client.start("ask_person")):
        today = client.wait_for(task_id, "input_required")
        then = older.get(task_id).result
        assert then == {
            "taskId": task_id,
            "status": today["status"],
            "statusMessage": today["statusMessage"],
            "createdAt": today["createdAt"],
            "lastUpdatedAt": today["lastUpdatedAt"],
            "ttl": today["ttlMs"],
            "pollInterval": today["pollIntervalMs"],
        }
        client.update(task_id, {"person": {"action": "decline"}})
        ended = client.wait_for(task_id)["result"]
        assert older.outcome(task_id).result["content"] == ended["content"]


def test_what_was_asked_of_one_is_answered_by_the_other(platform: Platform, older: Older, client: Client) -> None:
    """OLD-2: a task of the older era by a client of today, while the older one waits; and the other way round."""
    task_id = older.start("choose")
    with older.stream("tasks/result", {"taskId": task_id}) as messages:
        next(questions(messages))
        client.update(task_id, {"choice": accepted(size="l")})
        [*_, last] = messages
    assert last["result"]["structuredContent"]["content"] == {"size": "l", **DEFAULTS}

    task_id = client.start("choose")
    client.wait_for(task_id, "input_required")
    with client.listen(task_id) as told, older.stream("tasks/result", {"taskId": task_id}) as messages:
        with Older(platform.url) as other:
            other.respond(next(questions(messages))["id"], accepted(size="s"))
        [*_, last] = told
    assert last["result"]["resultType"] == "complete"
    assert client.get(task_id).result["result"]["structuredContent"]["content"] == {"size": "s", **DEFAULTS}


def test_a_plain_call_is_answered_by_a_client_of_today(older: Older, client: Client) -> None:
    """OLD-2."""
    with older.stream("tools/call", {"name": "choose"}) as messages:
        task_id = next(questions(messages))["id"].split("/")[1]
        client.update(task_id, {"choice": {"action": "cancel"}})
        assert next(messages)["result"]["structuredContent"] == {"action": "cancel", "content": {}}


def test_what_one_cancels_is_cancelled_for_the_other(older: Older, client: Client, tmp_path: Path) -> None:
    """OLD-2, TASK-9."""
    for number in range(2):
        task_id = older.start("hold", {"path": str(tmp_path / f"mark-{number}")})
        if number:
            client.cancel(task_id)
            client.wait_for(task_id, "cancelled")
        else:
            older.cancel(task_id)
        assert older.get(task_id).result["status"] == client.get(task_id).result["status"] == "cancelled"


def test_a_call_with_a_name_of_its_own_is_one_call_in_both(older: Older, client: Client) -> None:
    """OLD-2."""
    meta = {"io.coatcheck/idempotencyKey": "both-eras"}
    task_id = client.start("ask_page", meta=meta)
    assert older.call("ask_page", task={}, _meta=meta).result["task"]["taskId"] == task_id
    other = older.call("ask_model", task={}, _meta=meta)
    assert other.refusal == (200, -32602)
    client.cancel(task_id)


def test_the_older_capability_is_never_told_today(client: Client) -> None:
    """OLD-2, DISC-1: nor is anything else that is old."""
    assert client.discover().result["capabilities"].keys() == {"tools", "extensions"}
    assert client.discover().result["supportedVersions"] == ["2026-07-28"]
    assert not any("execution" in tool for tool in client.list().result["tools"])
    task = client.call("choose", params={"task": {"ttl": 1000}}).result
    assert task["ttlMs"] == 86_400_000
    assert "task" not in task
    client.cancel(task["taskId"])
