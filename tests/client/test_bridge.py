"""Hosts that only start subprocesses reach the server through `coatcheck stdio`."""

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import ElicitResult, TextContent

from coatcheck.client.bridge.messages import Unreadable, one_line, read_line
from coatcheck.client.models import TASKS
from tests.client.command import PYTHON, Command
from tests.client.scripted import (
    Asked,
    Error,
    Hangup,
    Raw,
    Result,
    Scripted,
    Stream,
    acknowledged,
    completed,
    created,
    told,
)
from tests.support.platform import ROOT, Platform
from tests.support.ports import free_port
from tests.support.waiting import wait_until

Json = dict[str, Any]

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {"extensions": {TASKS: {}}},
}


class Host:
    """A host of the bridge, which writes and reads lines."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process

    def write(self, message: Json | bytes) -> None:
        line = message if isinstance(message, bytes) else json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, message_id: str | int | None = 1, *, is_modern: bool = True, **params: Any) -> None:
        meta = {"_meta": META} if is_modern else {}
        identified = {} if message_id is None else {"id": message_id}
        self.write({"jsonrpc": "2.0", **identified, "method": method, "params": {**params, **meta}})

    def read(self) -> Json:
        assert self.process.stdout is not None
        line: Json = json.loads(self.process.stdout.readline())
        return line

    def hang_up(self) -> tuple[int, bytes]:
        """The host closes its end; the exit code, and what was written until then."""
        out, err = self.process.communicate(timeout=20)
        assert err == b"", err
        return self.process.returncode, out


@contextmanager
def host(url: str, **env: str) -> Iterator[Host]:
    """A host whose bridge leads to this server."""
    process = subprocess.Popen(
        [*PYTHON, "stdio"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COATCHECK_URL": url, **env},
    )
    with process:
        yield Host(process)
        process.kill()


def test_the_official_client_works_through_the_bridge(platform: Platform, home: object) -> None:
    async def approve(_context: object, _params: object) -> ElicitResult:
        return ElicitResult(action="accept", content={"approved": True})

    async def main() -> str:
        env = {**os.environ, "PYTHONPATH": str(ROOT), "COATCHECK_URL": platform.url}
        server = StdioServerParameters(command=sys.executable, args=["-m", "coatcheck", "stdio"], env=env)
        async with Client(server, elicitation_callback=approve) as client:
            assert client.protocol_version == "2026-07-28"
            assert "generate_report" in [tool.name for tool in (await client.list_tools()).tools]
            # This client knows no tasks, so the call waits, asks and goes on in rounds.
            result = await client.call_tool("generate_report", {"source": "sales"})
            assert isinstance(result.content[0], TextContent)
            return result.content[0].text

    assert anyio.run(main).startswith("# Report: sales")


def test_tasks_go_through_the_bridge(platform: Platform, home: object) -> None:
    with host(platform.url) as bridged:
        bridged.ask("tools/call", "call", name="loiter", arguments={"seconds": 0})
        reply = bridged.read()
        assert (reply["id"], reply["result"]["resultType"]) == ("call", "task")

        def status() -> str:
            bridged.ask("tasks/get", 7, taskId=reply["result"]["taskId"])
            answer = bridged.read()
            assert answer["id"] == 7
            return str(answer["result"]["status"])

        wait_until(lambda: status() == "completed", 20, "the task")
        bridged.ask("tasks/get", "unknown", taskId="nothing")
        error = bridged.read()
        assert (error["id"], error["error"]["code"]) == ("unknown", -32602)
        assert bridged.hang_up() == (0, b"")


def test_every_header_mirrors_the_message(home: object) -> None:
    """HDR-1, HDR-2, HDR-3."""
    with Scripted({"tasks/get": completed()}) as server, host(server.url, COATCHECK_TOKEN="secret") as bridged:
        bridged.ask("tasks/get", taskId="t-ü")
        bridged.read()
        (asked,) = server.asked
    headers = {name: asked.headers[name] for name in ("mcp-protocol-version", "mcp-method", "mcp-name")}
    assert headers == {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tasks/get",
        "mcp-name": "=?base64?dC3DvA==?=",
    }
    assert asked.headers["authorization"] == "Bearer secret"


@pytest.mark.parametrize("has_listed", [True, False])
def test_arguments_are_mirrored_for_tools_that_want_it(home: object, has_listed: bool) -> None:
    """HDR-4: also when the host never asked for the tools."""
    schema = {"type": "object", "properties": {"pot": {"type": "string", "x-mcp-header": "Pot"}}}

    def call(asked: Asked) -> Result | Error:
        return created() if asked.headers.get("mcp-param-pot") == "blue" else Error(-32020)

    listed = Result({"resultType": "complete", "tools": [{"name": "brew", "inputSchema": schema}]})
    with Scripted({"tools/list": listed, "tools/call": call}) as server, host(server.url) as bridged:
        if has_listed:
            bridged.ask("tools/list")
            bridged.read()
        bridged.ask("tools/call", 2, name="brew", arguments={"pot": "blue"})
        reply = bridged.read()
        assert (reply["id"], reply["result"]["taskId"]) == (2, "t-1")
        assert len(server.of("tools/call")) == (1 if has_listed else 2)


def test_streams_share_the_line_and_carry_their_subscription(home: object) -> None:
    def stream(asked: Asked) -> Stream:
        wanted = asked.params["notifications"]["taskIds"]
        return Stream([acknowledged(*wanted), told(completed().value)], is_held=True)

    with Scripted({"subscriptions/listen": stream, "tasks/get": completed()}) as server, host(server.url) as bridged:
        for name in ("first", "second"):
            bridged.ask("subscriptions/listen", name, notifications={"taskIds": ["t-1"]})
        messages = [bridged.read() for _ in range(4)]
        ids = [message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] for message in messages]
        assert sorted(ids) == ["first", "first", "second", "second"]
        bridged.ask("tasks/get", "meanwhile", taskId="t-1")
        assert bridged.read()["id"] == "meanwhile"


def test_cancelling_a_request_hangs_up_and_nothing_more_is_said_of_it(home: object) -> None:
    """Source: basic/patterns/cancellation."""
    script = {"subscriptions/listen": Stream([acknowledged("t-1")], is_held=True), "tasks/get": completed()}
    with Scripted(script) as server, host(server.url) as bridged:
        bridged.ask("subscriptions/listen", "stream", notifications={"taskIds": ["t-1"]})
        assert bridged.read()["method"] == "notifications/subscriptions/acknowledged"
        bridged.ask("notifications/cancelled", None, requestId="stream")
        bridged.ask("tasks/get", "after", taskId="t-1")
        assert bridged.read()["id"] == "after"
        code, out = bridged.hang_up()
        assert (code, out) == (0, b"")
        assert server.methods() == ["subscriptions/listen", "tasks/get"]


def test_progress_of_a_call_reaches_the_host_before_its_result(home: object) -> None:
    progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}}

    def call(asked: Asked) -> Stream:
        return Stream([progress, {"jsonrpc": "2.0", "id": asked.message_id, "result": {"resultType": "complete"}}])

    with Scripted({"tools/call": call}) as server, host(server.url) as bridged:
        bridged.ask("tools/call", 5, name="brew")
        assert bridged.read() == progress
        assert bridged.read()["id"] == 5


def test_an_error_without_an_id_gets_the_requests(home: object) -> None:
    refusal = Raw(
        400, b'{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}', {"Content-Type": "application/json"}
    )
    with Scripted({"tools/list": refusal}) as server, host(server.url) as bridged:
        bridged.ask("tools/list", "mine")
        assert bridged.read() == {"jsonrpc": "2.0", "id": "mine", "error": {"code": -32700, "message": "no"}}


def test_requests_are_tried_again_but_a_call_is_not(home: object) -> None:
    scripts = {"tools/list": [Hangup(), Raw(503, headers={"Retry-After": "0"}), Result({})], "tools/call": Hangup()}
    with Scripted(scripts) as server, host(server.url) as bridged:
        bridged.ask("tools/list")
        assert "result" in bridged.read()
        bridged.ask("tools/call", name="brew")
        assert bridged.read()["error"]["code"] == -32603
        assert len(server.of("tools/call")) == 1


def test_an_error_of_the_bridge_is_a_sentence_to_the_host(home: object) -> None:
    with Scripted({"tools/list": Raw(401)}) as server, host(server.url) as bridged:
        bridged.ask("tools/list", 1)
        error = bridged.read()
        assert (error["id"], error["error"]["code"]) == (1, -32603)
        assert "COATCHECK_TOKEN" in error["error"]["message"]


def test_the_older_era_goes_through_as_far_as_the_server_serves_it(home: object) -> None:
    """OLD-1: `initialize` settles the revision, which the headers of later requests name."""

    def initialize(asked: Asked) -> Raw:
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "old", "version": "1"}}
        body = json.dumps({"jsonrpc": "2.0", "id": asked.message_id, "result": result}).encode()
        return Raw(200, body, {"Content-Type": "application/json", "Mcp-Session-Id": "s-1"})

    scripts = {
        "initialize": initialize,
        "notifications/initialized": Raw(202),
        "notifications/cancelled": Raw(202),
        "ping": Result({}),
    }
    with Scripted(scripts) as server, host(server.url) as bridged:
        bridged.ask("initialize", 0, is_modern=False, protocolVersion="2025-11-25")
        assert bridged.read()["result"]["protocolVersion"] == "2025-11-25"
        bridged.ask("notifications/initialized", None, is_modern=False)
        bridged.ask("notifications/cancelled", None, is_modern=False, requestId=99)
        bridged.ask("ping", 1, is_modern=False)
        assert bridged.read() == {"jsonrpc": "2.0", "id": 1, "result": {}}
        wait_until(lambda: len(server.methods()) == 4, 10, "the notifications")
        first, *later = server.asked
    assert "mcp-protocol-version" not in first.headers
    for asked in later:
        assert (asked.headers["mcp-protocol-version"], asked.headers["mcp-session-id"]) == ("2025-11-25", "s-1")


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"{", -32700),
        (b"\xff", -32700),
        (b'{"id": 1, "method": "tools/list", "id": 2}', -32700),
        (b'{"id": 1, "id": 1, "method": "tools/list"}', -32700),
        (b'{"id": 1, "method": "tools/list", "params": {"_meta": {}, "_meta": {}}}', -32700),
        (b'{"id": 1, "method": "tools/call", "params": {"name": "x", "arguments": {"n": NaN}}}', -32700),
        (b'{"id": "\\ud800", "method": "tools/list"}', -32700),
        (b"[]", -32600),
        (b'{"method": 7}', -32600),
        (b"{}", -32600),
        (b'{"method": "x", "id": true}', -32600),
        (b'{"method": "x", "id": 1.5}', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "tools/list"}', -32600),
        (b'{"id": null}', -32600),
    ],
)
def test_a_line_that_is_no_message_is_answered_and_the_next_one_read(home: object, line: bytes, code: int) -> None:
    """RPC-1: as the server does, with an id that is null because none can be read."""
    with Scripted({"tools/list": Result({})}) as server, host(server.url) as bridged:
        bridged.write(line)
        answer = bridged.read()
        assert (answer["id"], answer["error"]["code"]) == (None, code)
        bridged.write(b"")
        bridged.ask("tools/list")
        assert "result" in bridged.read()
        assert server.methods() == ["tools/list"]


@pytest.mark.parametrize(
    "line",
    [
        b'{"id": 9, "method": 5}',
        b'{"id": 9, "method": null}',
        b'{"id": 9, "method": ""}',
        b'{"id": 9}',
        b'{"id": 9, "method": "tools/list", "params": []}',
        b'{"id": 9, "method": "tools/list", "params": null}',
    ],
)
def test_a_wrong_request_with_a_readable_id_is_answered_by_that(home: object, line: bytes) -> None:
    with Scripted({}) as server, host(server.url) as bridged:
        bridged.write(line)
        answer = bridged.read()
        assert (answer["id"], answer["error"]["code"]) == (9, -32600)
        assert server.methods() == []


def test_a_token_that_cannot_be_had_is_told_to_every_request(home: Path) -> None:
    """And to no notification: the bridge goes on."""
    folder = home / "config" / "coatcheck"
    folder.mkdir(parents=True)
    with Scripted({"tools/list": Result({})}) as server:
        (folder / "profiles.toml").write_text(
            f'[profiles.p]\nurl = "{server.url}"\ntoken_command = ["/nowhere/login"]\n'
        )
        with host(server.url) as bridged:
            for message_id in (1, 2):
                bridged.ask("notifications/cancelled", None, is_modern=False, requestId=7)
                bridged.ask("tools/list", message_id)
                answer = bridged.read()
                assert (answer["id"], answer["error"]["code"]) == (message_id, -32603)
                assert "did not run" in answer["error"]["message"]
            assert bridged.hang_up() == (0, b"")


def test_a_host_that_reads_no_more_is_no_traceback(home: object) -> None:
    with Scripted({"tools/list": Result({})}) as server, host(server.url) as bridged:
        assert bridged.process.stdout is not None
        assert bridged.process.stderr is not None
        assert bridged.process.stdin is not None
        bridged.process.stdout.close()
        bridged.ask("tools/list")
        bridged.process.stdin.close()
        assert bridged.process.stderr.read() == b""


def test_a_body_with_line_breaks_becomes_one_line_and_keeps_its_numbers() -> None:
    assert one_line(b'{\r\n "a": 12345678901234567890.10\n}\n') == b'{   "a": 12345678901234567890.10 }'
    with pytest.raises(Unreadable):
        read_line(b"[" * 100_000)


def test_a_wrong_address_is_told_before_anything_is_read(command: Command) -> None:
    ended = command.process("stdio", "--url", "nonsense")
    assert ended.code == 2
    assert "is not an address" in ended.err


def test_a_bridge_to_where_nothing_listens_says_so_before_its_host_gives_up(home: object) -> None:
    """K5.10: hosts wait for a few seconds."""
    with host(f"http://127.0.0.1:{free_port()}/mcp") as bridged:
        bridged.ask("server/discover")
        assert select.select([bridged.process.stdout], [], [], 20)[0], "no answer while a host would wait"
        error = bridged.read()["error"]
        assert "Nothing answers at http://127.0.0.1" in error["message"]


def test_a_bridge_waits_for_a_server_that_was_there(home: object) -> None:
    """K5.10: a patience of two seconds is for an address that may be wrong."""
    scripts = {"tools/list": [Raw(503, headers={"Retry-After": "3"}), Result({})]}
    with Scripted(scripts) as server, host(server.url) as bridged:
        bridged.ask("tools/list")
        assert "result" in bridged.read()


@pytest.mark.parametrize(
    "reply",
    [
        Raw(200, b"data: 5\n\n", {"Content-Type": "text/event-stream"}),
        Raw(200, b'{"result":{"tools":[5,{"name":"x","inputSchema":7}]}}', {"Content-Type": "application/json"}),
        Raw(200, b'{"result":{"tools":7}}', {"Content-Type": "application/json"}),
    ],
)
def test_what_is_no_answer_keeps_the_bridge_alive(home: object, reply: Raw) -> None:
    """K5.1: an error in any phase becomes an answer to the host."""
    with Scripted({"tools/list": [reply, Result({})], "tasks/get": completed()}) as server, host(server.url) as bridged:
        bridged.ask("tools/list")
        assert "id" in bridged.read()
        bridged.ask("tasks/get", 2, taskId="t-1")
        assert bridged.read()["id"] == 2
