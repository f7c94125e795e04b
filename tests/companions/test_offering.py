"""Companions are offered where the operator says so, as tools like any other."""

import httpx
import pytest
from jsonschema_rs import validator_for

from coatcheck import tool
from coatcheck.tasks_store import StoreSettings
from coatcheck.web.app import create_app
from coatcheck.web.settings.web import ServerSettings, WebSettings
from coatcheck.workers.settings import WorkerSettings
from coatcheck.workers.toolkit.errors import ToolDefinitionError
from tests.companions.calling import Companion
from tests.support.client import Client

NAMES = ("list_tasks", "task_answer", "task_status")


@tool
def list_tasks() -> str:
    """Have the name of a companion."""
    return "mine"


def test_they_are_listed_with_schemas_and_what_they_may_change(companion: Companion) -> None:
    """LIST-1"""
    for name in NAMES:
        described = companion.described[name]
        assert described["annotations"] == {
            "readOnlyHint": name != "task_answer",
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        }
        assert described["title"]
        assert described["description"]
        for schema in (described["inputSchema"], described["outputSchema"]):
            assert schema["type"] == "object"
            validator_for(schema)
        assert described["inputSchema"]["additionalProperties"] is False
    assert set(companion.described["list_tasks"]["inputSchema"]["properties"]) == {
        "status",
        "tool",
        "created_after",
        "created_before",
        "cursor",
        "limit",
        "everyone",
    }
    assert list(companion.described) == sorted(companion.described)


def test_a_model_reads_nothing_that_is_meant_for_us(companion: Companion) -> None:
    for name in NAMES:
        assert "Source:" not in str(companion.described[name])
        assert "$defs" not in companion.described[name]["inputSchema"]


def test_without_the_setting_there_are_none(bare_door: str) -> None:
    with Client(bare_door) as client:
        assert not {tool["name"] for tool in client.list().result["tools"]} & set(NAMES)
        for name in NAMES:
            reply = client.call(name)
            assert (reply.status, reply.error["code"]) == (400, -32602)


def test_a_tool_of_a_module_with_the_name_of_a_companion_is_refused_at_the_start() -> None:
    workers = WorkerSettings(tools=(__name__,))
    create_app(ServerSettings(StoreSettings(), workers, WebSettings(companions=("task_status",))))
    with pytest.raises(ToolDefinitionError) as clash:
        create_app(ServerSettings(StoreSettings(), workers, WebSettings(companions=("task_status", "list_tasks"))))
    assert "COATCHECK_COMPANIONS" in str(clash.value)
    assert f"{__name__}.list_tasks" in str(clash.value)


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18"])
def test_an_older_client_is_offered_them_too(door: str, version: str) -> None:
    """OLD-1, OLD-2"""

    def post(method: str, params: dict[str, object]) -> dict[str, object]:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        headers = {"MCP-Protocol-Version": version, "Accept": "application/json, text/event-stream"}
        response = httpx.post(door, json=message, headers=headers, trust_env=False)
        text = response.text.rpartition("data: ")[2] if "event-stream" in response.headers["content-type"] else ""
        result: dict[str, object] = (httpx.Response(200, text=text) if text else response).json()["result"]
        return result

    with Client(door) as today:
        task_id = today.start("confirm", {"what": version})
        today.wait_for(task_id, "input_required")
        listed = post("tools/list", {})["tools"]
        assert isinstance(listed, list)
        assert set(NAMES) <= {one["name"] for one in listed}
        told = post("tools/call", {"name": "task_status", "arguments": {"task_id": task_id}})["structuredContent"]
        assert told["status"] == "input_required"  # type: ignore[index]
        answers = {"sure": {"action": "accept", "content": {"yes": True}}}
        arguments = {"task_id": task_id, "answers": answers}
        assert post("tools/call", {"name": "task_answer", "arguments": arguments})["isError"] is False
        assert today.wait_for(task_id)["status"] == "completed"
