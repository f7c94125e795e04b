"""Requests as the bytes that go over a socket, made once and sent often."""

import json
from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]

VERSION = "2026-07-28"
META = "io.modelcontextprotocol/"
CAPABILITIES: Json = {"elicitation": {"form": {}}}
TASKS: Json = {"extensions": {"io.modelcontextprotocol/tasks": {}}}

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
"""Whether a web process of Coatcheck answers."""


def discover() -> bytes:
    """The smallest request there is."""
    return _message("server/discover", {}, None)


def call(tool: str, arguments: Mapping[str, Any] | None = None, *, knows_tasks: bool = True) -> bytes:
    """A `tools/call` that becomes a task; that of a client which knows no tasks waits for its result."""
    capabilities = CAPABILITIES | TASKS if knows_tasks else CAPABILITIES
    return _message("tools/call", {"name": tool, "arguments": dict(arguments or {})}, tool, capabilities)


def get(task_id: str) -> bytes:
    """A poll."""
    return _message("tasks/get", {"taskId": task_id}, task_id)


def update(task_id: str, responses: Mapping[str, Any]) -> bytes:
    """Answers to outstanding inputs."""
    return _message("tasks/update", {"taskId": task_id, "inputResponses": dict(responses)}, task_id)


def cancel(task_id: str) -> bytes:
    """The wish that a task should end."""
    return _message("tasks/cancel", {"taskId": task_id}, task_id)


def listen(task_ids: list[str]) -> bytes:
    """A stream of what becomes of these tasks."""
    return _message("subscriptions/listen", {"notifications": {"taskIds": task_ids}}, None)


def post(path: str) -> bytes:
    """A request to a bare route, as large as a poll: the ceiling pays for the same bytes."""
    return get("0" * 33).replace(b"POST /mcp ", f"POST {path} ".encode(), 1)


def result_of(body: bytes) -> Json:
    """The result in a JSON-RPC response.

    Raises:
        ValueError: the response is an error.
    """
    message: Json = json.loads(body)
    if "result" not in message:
        raise ValueError(body.decode(errors="replace"))
    result: Json = message["result"]
    return result


def text_of(task: Json) -> str:
    """The text that a completed task's tool returned."""
    text: str = task["result"]["content"][0]["text"]
    return text


def _message(
    method: str, params: Mapping[str, Any], name: str | None, capabilities: Json = CAPABILITIES | TASKS
) -> bytes:
    meta = {
        f"{META}protocolVersion": VERSION,
        f"{META}clientInfo": {"name": "bench", "version": "1"},
        f"{META}clientCapabilities": capabilities,
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}
    body = json.dumps(message, separators=(",", ":")).encode()
    lines = [
        "POST /mcp HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"MCP-Protocol-Version: {VERSION}",
        f"Mcp-Method: {method}",
        *([f"Mcp-Name: {name}"] if name else []),
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body
