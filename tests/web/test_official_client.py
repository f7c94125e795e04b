"""The official Python client against the front door, and its models over everything that comes out of it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

import mcp
import pytest
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from mcp_types import (
    CallToolResult,
    CreateMessageResult,
    ElicitResult,
    JSONRPCError,
    JSONRPCResponse,
    ListRootsResult,
    Result,
    Root,
    TextContent,
)
from mcp_types.methods import parse_server_notification, parse_server_result
from pydantic import FileUrl

from tests.support.client import Client
from tests.support.platform import Platform
from tests.web.door import TASKS, VERSION

FORMS: Mapping[str, Any] = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}


async def fill_in(context: object, params: Any) -> ElicitResult:
    """A person who agrees to everything and likes blue."""
    values: dict[str, str | bool] = {"name": "Ann", "ok": True, "color": "blue", "confirm": True}
    asked = params.requested_schema["properties"]
    return ElicitResult(action="accept", content={name: values[name] for name in asked})


async def write(context: object, params: object) -> CreateMessageResult:
    """A model that has one thing to say."""
    return CreateMessageResult(role="assistant", content=TextContent(type="text", text="Paris"), model="m")


async def roots(context: object) -> ListRootsResult:
    """A client that works in one folder."""
    return ListRootsResult(roots=[Root(uri=FileUrl("file:///folder"))])


class Handle(Result):
    """A CreateTaskResult, as far as this test needs it."""

    result_type: Literal["task"] = "task"
    task_id: str


class Tasks(ClientExtension):
    """The tasks extension, which the official client leaves to others: it takes handles, and lets go of them."""

    identifier = TASKS

    def __init__(self) -> None:
        self.seen: list[str] = []

    def claims(self) -> list[ResultClaim[Handle]]:
        """What a call may be answered with besides a result."""
        return [ResultClaim(result_type="task", model=Handle, resolve=self._resolve)]

    async def _resolve(self, handle: Handle, _context: ClaimContext) -> CallToolResult:
        self.seen.append(handle.task_id)
        return CallToolResult(content=[TextContent(type="text", text="handed over")])


def talk(
    platform: Platform, what: Callable[[mcp.Client], Awaitable[Any]], extensions: Sequence[ClientExtension] = ()
) -> Any:
    """What comes of talking to the front door with the official client."""

    async def conversation() -> Any:
        async with mcp.Client(
            platform.url,
            elicitation_callback=fill_in,
            sampling_callback=write,
            list_roots_callback=roots,
            extensions=extensions,
        ) as client:
            return await what(client)

    return asyncio.run(conversation())


def test_the_official_client_discovers_the_server(platform: Platform) -> None:
    """DISC-1."""

    async def what(client: mcp.Client) -> tuple[str, str, bool]:
        assert client.server_info is not None
        return client.protocol_version, client.server_info.name, client.server_capabilities.tools is not None

    assert talk(platform, what) == (VERSION, "coatcheck", True)


def test_the_official_client_lists_and_calls(platform: Platform) -> None:
    """LIST-1, CALL-2, CALL-3: it checks structure against the schema that was listed."""

    async def what(client: mcp.Client) -> tuple[list[str], CallToolResult, CallToolResult]:
        listed = await client.list_tools()
        forecast = await client.call_tool("forecast", {"city": "Oslo"})
        failed = await client.call_tool("test_error_handling")
        return [tool.name for tool in listed.tools], forecast, failed

    names, forecast, failed = talk(platform, what)
    assert "forecast" in names
    assert forecast.structured_content == {"city": "Oslo", "days": 3, "warm": True}
    assert (forecast.is_error, failed.is_error) == (False, True)


def test_the_official_client_mirrors_parameters_into_headers(platform: Platform) -> None:
    """HDR-4: with its own encoding, which the server takes."""

    async def what(client: mcp.Client) -> list[Any]:
        await client.list_tools()
        regions = ["us", "Hello, 世界", " padded ", "=?base64?eA==?="]
        given = [{"region": region, "level": 42, "dry": True} for region in regions]
        return [(await client.call_tool("routed", one)).content[0] for one in given]

    texts = [content.text for content in talk(platform, what)]
    assert texts == ["us 42 True", "Hello, 世界 42 True", " padded  42 True", "=?base64?eA==?= 42 True"]


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("test_input_required_result_elicitation", "Hello, Ann!"),
        ("test_input_required_result_sampling", "Paris"),
        ("test_input_required_result_list_roots", "file:///folder"),
        ("test_input_required_result_multiple_inputs", "Paris Ann: file:///folder"),
        ("test_input_required_result_multi_round", "Ann likes blue"),
        ("test_streaming_elicitation", "Hello, Ann!"),
    ],
)
def test_the_official_client_answers_what_it_is_asked(platform: Platform, tool: str, text: str) -> None:
    """MRTR-1: round after round, by itself."""

    async def what(client: mcp.Client) -> CallToolResult:
        return await client.call_tool(tool)

    [content] = talk(platform, what).content
    assert content.text == text


def test_the_official_client_hears_of_progress(platform: Platform) -> None:
    """CALL-4."""
    heard: list[tuple[float, float | None, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async def what(client: mcp.Client) -> CallToolResult:
        return await client.call_tool("test_tool_with_progress", progress_callback=on_progress)

    assert talk(platform, what).content[0].text == "All steps are done"
    assert heard == [(done, 100.0, f"Completed step {done} of 100") for done in (0, 50, 100)]


def test_the_official_client_reads_errors(platform: Platform) -> None:
    """HTTP-6: by their code, whatever their status."""

    async def what(client: mcp.Client) -> list[int]:
        codes = []
        calls: dict[str, dict[str, Any]] = {"no_such": {}, "failing_job": {}, "refuse": {"code": -32603}}
        for tool, arguments in calls.items():
            with pytest.raises(mcp.MCPError) as caught:
                await client.call_tool(tool, arguments)
            codes.append(caught.value.error.code)
        return codes

    assert talk(platform, what) == [-32602, -32021, -32603]


def test_the_official_client_takes_handles_through_an_extension(platform: Platform) -> None:
    """TASK-1, TASK-3."""
    tasks = Tasks()

    async def what(client: mcp.Client) -> CallToolResult:
        return await client.call_tool("failing_job")

    assert talk(platform, what, extensions=[tasks]).content[0].text == "handed over"
    with platform.client() as client:
        assert client.wait_for(tasks.seen[0])["status"] == "completed"


def test_the_official_models_parse_every_kind_of_answer(platform: Platform, client: Client) -> None:
    """RPC-1, RPC-5, DISC-1, LIST-1, MRTR-1, TASK-6: responses, results, errors and notifications."""
    with platform.client(capabilities=FORMS) as plain:
        served = {
            "server/discover": [plain.discover()],
            "tools/list": [plain.list()],
            "tools/call": [
                plain.call("greet", {"name": "Ann"}),
                plain.call("greet"),
                plain.call("forecast", {"city": "Oslo"}),
                plain.call("give", {"what": "shown"}),
                plain.call("test_input_required_result_multiple_inputs"),
                plain.call("test_tool_with_progress", meta={"progressToken": "p"}),
            ],
        }
        refused = [plain.call("no_such"), plain.call("failing_job"), plain.request("no/such"), client.get("x")]
    for method, replies in served.items():
        for reply in replies:
            JSONRPCResponse.model_validate(reply.body)
            parse_server_result(method, VERSION, reply.result)
            for told in reply.notifications:
                parse_server_notification(told["method"], VERSION, told["params"])
    for reply in refused:
        JSONRPCError.model_validate(reply.body)


def test_the_official_models_parse_the_result_of_a_task(client: Client) -> None:
    """TASK-6: it has the shape that the call would have had."""
    for what in ("shown", "object", "told_error"):
        task = client.wait_for(client.start("give_later", {"what": what}))
        parse_server_result("tools/call", VERSION, task["result"])
