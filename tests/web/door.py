"""A client of the wire that sends what it is told, right or wrong, and hands back all that came.

`tests.support.client` is the one to use for requests that are in order.
"""

import http.client
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coatcheck.workers.version import VERSION as SERVER_VERSION

VERSION = "2026-07-28"
TASKS = "io.modelcontextprotocol/tasks"
PROTOCOL_VERSION = "io.modelcontextprotocol/protocolVersion"
CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO = {"io.modelcontextprotocol/serverInfo": {"name": "coatcheck", "version": SERVER_VERSION}}

WITH_TASKS: Mapping[str, Any] = {"extensions": {TASKS: {}}}

LIMIT_S = 30.0
"""How long an answer may take before a test fails."""

NAMED_BY = {"tools/call": "name", "tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId"}

Headers = Mapping[str, str] | Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Reply:
    """A whole HTTP response."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    @property
    def json(self) -> Any:
        """The one JSON value that the body is."""
        return json.loads(self.body)

    @property
    def refusal(self) -> tuple[int, int]:
        """HTTP status and JSON-RPC code of a request that was refused."""
        return self.status, self.json["error"]["code"]

    @property
    def events(self) -> list[Any]:
        """The messages of an event stream."""
        return [json.loads(data) for data in _data_of(self.body.decode())]


@dataclass(frozen=True)
class Door:
    """The front door at a port of this machine."""

    port: int

    def connect(self) -> http.client.HTTPConnection:
        """A connection that stays open between requests."""
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT_S)

    def send(
        self,
        body: bytes,
        headers: Headers,
        *,
        verb: str = "POST",
        path: str = "/mcp",
        connection: http.client.HTTPConnection | None = None,
    ) -> Reply:
        """The answer to exactly this; `Host` and `Content-Length` are added unless they are given."""
        used = connection or self.connect()
        try:
            given = list(headers.items()) if isinstance(headers, Mapping) else headers
            names = {name.lower() for name, _ in given}
            used.putrequest(verb, path, skip_host="host" in names, skip_accept_encoding=True)
            for name, value in given:
                used.putheader(name, value.encode("utf-8"))
            if not names & {"content-length", "transfer-encoding"}:
                used.putheader("Content-Length", str(len(body)))
            used.endheaders(body)
            response = used.getresponse()
            return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            if connection is None:
                used.close()

    def post(
        self,
        message: Mapping[str, Any],
        *,
        headers: Mapping[str, str] | None = None,
        connection: http.client.HTTPConnection | None = None,
    ) -> Reply:
        """The answer to a message with the headers that it wants; those that are given go over them."""
        return self.send(encode(message), {**headers_of(message), **(headers or {})}, connection=connection)


def request(
    method: str,
    params: Mapping[str, Any] | None = None,
    *,
    capabilities: Mapping[str, Any] = WITH_TASKS,
    id: object = 1,  # noqa: A002 - JSON-RPC's word for it
    meta: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A request with everything that the protocol wants of it."""
    required = {PROTOCOL_VERSION: VERSION, CLIENT_CAPABILITIES: capabilities}
    params = {**(params or {}), "_meta": {**required, **(meta or {})}}
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def headers_of(message: Mapping[str, Any]) -> dict[str, str]:
    """The headers that the protocol wants of this message."""
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": message["method"],
    }
    named_by = NAMED_BY.get(message["method"])
    if named_by is not None and named_by in message["params"]:
        headers["Mcp-Name"] = message["params"][named_by]
    return headers


def encode(message: object) -> bytes:
    """A message as it crosses the wire."""
    return json.dumps(message, ensure_ascii=False).encode()


def text_result(text: str, *, is_error: bool = False) -> dict[str, Any]:
    """A whole CallToolResult that is one text."""
    content = [{"type": "text", "text": text}]
    return {"resultType": "complete", "content": content, "isError": is_error, "_meta": SERVER_INFO}


def _data_of(stream: str) -> Iterator[str]:
    for block in stream.split("\n\n"):
        lines = [line.removeprefix("data: ") for line in block.split("\n") if line.startswith("data: ")]
        if lines:
            yield "\n".join(lines)
