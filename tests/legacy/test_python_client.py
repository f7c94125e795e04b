"""The official Python client, forced to the older era."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import mcp
import pytest
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    CancelTaskRequest,
    CancelTaskRequestParams,
    CancelTaskResult,
    CreateTaskResult,
    GetTaskPayloadRequest,
    GetTaskPayloadRequestParams,
    GetTaskRequest,
    GetTaskRequestParams,
    GetTaskResult,
    TaskMetadata,
)

from tests.support.platform import Platform
from tests.web.test_official_client import fill_in, roots, write


def talk(platform: Platform, what: Callable[[mcp.Client], Awaitable[Any]]) -> Any:
    """What comes of talking to the front door with the official client, which opens as it did before."""

    async def conversation() -> Any:
        async with mcp.Client(
            platform.url,
            mode="legacy",
            elicitation_callback=fill_in,
            sampling_callback=write,
            list_roots_callback=roots,
        ) as client:
            return await what(client)

    return asyncio.run(conversation())


async def begin(client: mcp.Client, tool: str, arguments: dict[str, Any]) -> CreateTaskResult:
    """The task that a call became. This client has let go of tasks: `send_request` would take a result only."""
    params = CallToolRequestParams(name=tool, arguments=arguments, task=TaskMetadata(ttl=60_000))
    sent = params.model_dump(by_alias=True, mode="json", exclude_none=True)
    raw = await client.session._dispatcher.send_raw_request("tools/call", sent, {})
    return CreateTaskResult.model_validate(raw, by_name=False)


async def get(client: mcp.Client, task_id: str) -> GetTaskResult:
    """The task as it stands."""
    return await client.session.send_request(
        GetTaskRequest(params=GetTaskRequestParams(task_id=task_id)), GetTaskResult
    )


def test_it_connects(platform: Platform) -> None:
    """OLD-1, C54."""

    async def what(client: mcp.Client) -> tuple[str, str]:
        assert client.server_info is not None
        await client.send_ping()
        return client.protocol_version, client.server_info.name

    with pytest.warns(MCPDeprecationWarning, match="ping"):
        assert talk(platform, what) == ("2025-11-25", "coatcheck")


def test_it_lists_and_calls(platform: Platform) -> None:
    """OLD-1, CALL-2, CALL-3."""

    async def what(client: mcp.Client) -> tuple[list[str], CallToolResult, CallToolResult]:
        listed = await client.list_tools()
        forecast = await client.call_tool("forecast", {"city": "Oslo"})
        failed = await client.call_tool("test_error_handling")
        return [tool.name for tool in listed.tools], forecast, failed

    names, forecast, failed = talk(platform, what)
    assert "forecast" in names
    assert forecast.structured_content == {"city": "Oslo", "days": 3, "warm": True}
    assert (forecast.is_error, failed.is_error) == (False, True)


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("test_input_required_result_elicitation", "Hello, Ann!"),
        ("test_input_required_result_multiple_inputs", "Paris Ann: file:///folder"),
        ("test_input_required_result_multi_round", "Ann likes blue"),
    ],
)
def test_it_answers_what_a_plain_call_asks(platform: Platform, tool: str, text: str) -> None:
    """OLD-1."""

    async def what(client: mcp.Client) -> CallToolResult:
        return await client.call_tool(tool)

    [content] = talk(platform, what).content
    assert content.text == text


def test_it_hears_of_progress(platform: Platform) -> None:
    """CALL-4."""
    heard: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append(progress)

    async def what(client: mcp.Client) -> CallToolResult:
        return await client.call_tool("test_tool_with_progress", progress_callback=on_progress)

    assert talk(platform, what).content[0].text == "All steps are done"
    assert heard == [0, 50, 100]


def test_it_runs_a_task_with_an_elicitation(platform: Platform) -> None:
    """OLD-1."""

    async def what(client: mcp.Client) -> tuple[str, CallToolResult, str]:
        created = await begin(client, "confirm_delete", {"filename": "a"})
        request = GetTaskPayloadRequest(params=GetTaskPayloadRequestParams(task_id=created.task.task_id))
        result = await client.session.send_request(request, CallToolResult)
        return created.task.status, result, (await get(client, created.task.task_id)).status

    status, result, after = talk(platform, what)
    assert (status, after) == ("working", "completed")
    assert result.content[0].text == "a was deleted"


def test_it_cancels_a_task(platform: Platform, tmp_path: Path) -> None:
    """OLD-1."""

    async def what(client: mcp.Client) -> tuple[str, str]:
        created = await begin(client, "hold", {"path": str(tmp_path / "mark")})
        request = CancelTaskRequest(params=CancelTaskRequestParams(task_id=created.task.task_id))
        cancelled = await client.session.send_request(request, CancelTaskResult)
        return cancelled.status, (await get(client, created.task.task_id)).status

    assert talk(platform, what) == ("cancelled", "cancelled")
