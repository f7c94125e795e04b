"""JSON-RPC messages on their way between lines and HTTP. Pure.

Source: basic/transports/stdio; basic/transports/streamable-http.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mcp.shared.inbound import NAME_BEARING_METHODS, encode_header_value, mcp_param_headers
from mcp_types import INVALID_REQUEST, PARSE_ERROR

from coatcheck.client.strict_json import NotCarried, read_json

PROTOCOL_VERSION: Final = "io.modelcontextprotocol/protocolVersion"

NAMES: Final[Mapping[str, str]] = {
    **NAME_BEARING_METHODS,
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""Method to the parameter that its `Mcp-Name` mirrors. Source: ext-tasks, tasks.md, "Routing Headers"."""

HeaderMap = Mapping[tuple[str, ...], str]
"""Path of an argument to the header that mirrors it."""


class Unreadable(Exception):
    """The line is no message; `reply` says so to whoever wrote it, by the id if there is one that can be read."""

    def __init__(self, code: int, why: str, request_id: str | int | None = None) -> None:
        super().__init__(why)
        self.reply = error_line(request_id, code, why)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the host, with the line it came on."""

    line: bytes
    method: str
    params: Mapping[str, Any]
    request_id: str | int | None
    """None for a notification, and for an answer to a request of the server."""

    @property
    def version(self) -> str | None:
        """The revision that the message itself names; None in the older era, where `initialize` settled it."""
        meta = self.params.get("_meta")
        version = meta.get(PROTOCOL_VERSION) if isinstance(meta, dict) else None
        return version if isinstance(version, str) else None

    def headers(self, negotiated: str | None, header_map: HeaderMap | None) -> dict[str, str]:
        """The headers that the message goes out with. Source: "Standard Request Headers", "Custom Headers"."""
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        if (version := self.version or negotiated) is not None:
            headers["MCP-Protocol-Version"] = version
        if self.method:
            headers["Mcp-Method"] = self.method
        name = self.params.get(NAMES.get(self.method, ""))
        if isinstance(name, str):
            headers["Mcp-Name"] = encode_header_value(name)
        arguments = self.params.get("arguments")
        if header_map and isinstance(arguments, dict):
            headers |= mcp_param_headers(header_map, arguments)
        return headers


def read_line(line: bytes) -> Message:
    """The message on a line of the host. Raises Unreadable.

    The server reads the same line. What it would take for no message is refused here, because its answer would have no
    id, and the bridge would have to guess which request it belongs to.
    """
    try:
        message = read_json(line.decode())
    except ValueError as fault:
        why = f"The line cannot be read: {fault}" if isinstance(fault, NotCarried) else "The line is not JSON"
        raise Unreadable(PARSE_ERROR, why) from fault
    if not isinstance(message, dict):
        raise Unreadable(INVALID_REQUEST, "A line holds one JSON-RPC message, which is an object")
    request_id = message.get("id")
    is_id = isinstance(request_id, str | int) and not isinstance(request_id, bool)
    readable_id = request_id if is_id else None
    if "method" not in message and ("result" in message or "error" in message):
        return Message(line, "", {}, None)  # an answer to a request of the server, which nobody answers in turn
    if "id" in message and not is_id:
        raise Unreadable(INVALID_REQUEST, "The id is a string or an integer")
    method, params = message.get("method"), message.get("params", {})
    if not isinstance(method, str) or not method or not isinstance(params, dict):
        raise Unreadable(INVALID_REQUEST, "The method is a string, and params an object", readable_id)
    return Message(line, method, params, readable_id)


def one_line(text: bytes) -> bytes:
    """The JSON text on one line. Its strings hold no line breaks, so only white space changes."""
    return text.replace(b"\r", b" ").replace(b"\n", b" ").strip()


def addressed(body: bytes, told: Mapping[str, Any], request_id: str | int) -> bytes:
    """The response on one line; an error that came without an id, since none could be read, gets the request's."""
    if told.get("id") is None:
        return json.dumps({**told, "id": request_id}).encode()
    return one_line(body)


def error_line(request_id: str | int | None, code: int, message: str) -> bytes:
    """A JSON-RPC error of the bridge itself; its id is null when none could be read. Source: JSON-RPC 2.0, 5."""
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}).encode()
