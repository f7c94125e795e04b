"""The official TypeScript client, which speaks 2025-11-25 and nothing newer."""

from pathlib import Path
from typing import Any

import pytest

from tests.legacy.typescript import talk
from tests.support.client import Client
from tests.support.platform import Platform

pytestmark = pytest.mark.usefixtures("typescript_client")


def test_it_connects_without_a_session(platform: Platform) -> None:
    """OLD-1, C54."""
    told = talk(platform.url, ("opened",), ("ping",), ("setLevel", "info"))
    assert (told["version"], told["session"]) == ("2025-11-25", None)
    opened, pinged, levelled = told["came"]
    assert opened["server"]["name"] == "coatcheck"
    assert opened["capabilities"]["tasks"]["requests"] == {"tools": {"call": {}}}
    assert (pinged, levelled) == ({}, {})


def test_it_lists_and_calls(platform: Platform) -> None:
    """OLD-1: it checks structures against the schemas that were listed."""
    listed, greeted, forecast, numbered, failed, refused = talk(
        platform.url,
        ("list",),
        ("call", "greet", {"name": "Ann"}),
        ("call", "forecast", {"city": "Oslo"}),
        ("call", "numbers", {"most": 2}),
        ("call", "test_error_handling", {}),
        ("call", "no_such", {}),
    )["came"]
    support = {tool["name"]: tool["execution"]["taskSupport"] for tool in listed["tools"]}
    assert (support["greet"], support["choose"], support["failing_job"]) == ("forbidden", "optional", "required")
    assert greeted["content"] == [{"type": "text", "text": "Hello, Ann!"}]
    assert forecast["structuredContent"] == {"city": "Oslo", "days": 3, "warm": True}
    assert numbered["content"] == [{"type": "text", "text": "[0,1]"}]
    assert failed["isError"] is True
    assert refused == {"error": -32602}


def test_it_hears_of_progress(platform: Platform) -> None:
    """CALL-4."""
    [heard] = talk(platform.url, ("heard", "test_tool_with_progress", {}))["came"]
    assert [one["progress"] for one in heard["progress"]] == [0, 50, 100]
    assert heard["result"]["content"][0]["text"] == "All steps are done"


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("confirm_delete", "a was deleted"),
        ("test_input_required_result_multiple_inputs", "Paris Ann: file:///folder"),
        ("test_input_required_result_multi_round", "Ann likes blue"),
        ("test_input_required_result_elicitation", "Hello, Ann!"),
    ],
)
def test_it_answers_what_a_plain_call_asks(platform: Platform, tool: str, text: str) -> None:
    """OLD-1: on the call's own stream."""
    arguments = {"filename": "a"} if tool == "confirm_delete" else {}
    [called] = talk(platform.url, ("call", tool, arguments))["came"]
    assert called["content"][0]["text"] == text


def test_it_runs_a_task_with_an_elicitation(platform: Platform, client: Client) -> None:
    """OLD-1, OLD-2: the same task is there for a client of today."""
    [messages] = talk(platform.url, ("task", "confirm_delete", {"filename": "a"}))["came"]
    assert messages[0]["type"] == "taskCreated"
    assert messages[0]["task"]["ttl"] == 60_000
    assert messages[-1]["type"] == "result"
    result: dict[str, Any] = messages[-1]["result"]
    task_id = messages[0]["task"]["taskId"]
    assert result["content"] == [{"type": "text", "text": "a was deleted"}]
    assert result["_meta"] == {"io.modelcontextprotocol/related-task": {"taskId": task_id}}
    assert client.get(task_id).result["result"]["content"] == result["content"]


def test_it_cancels_a_task(platform: Platform, tmp_path: Path) -> None:
    """OLD-1: and only once."""
    [told] = talk(platform.url, ("cancelled", "hold", {"path": str(tmp_path / "mark")}))["came"]
    assert (told["created"]["status"], told["cancelled"]["status"], told["seen"]["status"]) == (
        "working",
        "cancelled",
        "cancelled",
    )
    assert told["again"] == -32602
