"""Lines of JSON-RPC to HTTP requests, and their answers and streams back to lines.

Source: basic/transports/stdio; basic/patterns/cancellation.
"""

import json
from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import anyio
import httpx2
from anyio.abc import TaskGroup
from mcp.shared.inbound import x_mcp_header_map
from mcp_types import HEADER_MISMATCH, INTERNAL_ERROR

from coatcheck.client.bridge.messages import (
    HeaderMap,
    Message,
    Unreadable,
    addressed,
    error_line,
    one_line,
    read_line,
)
from coatcheck.client.deadline import Deadline
from coatcheck.client.errors import AnswerLost, AnswerTooLarge, Busy, ClientError, ServerError, Unreachable
from coatcheck.client.retry_policy import RetryPolicy
from coatcheck.client.tokens import Token
from coatcheck.client.transport import MAX_ANSWER_BYTES, EndpointClient, checked_url, is_event_stream
from coatcheck.client.wire import MAX_PAGES

Write = Callable[[bytes], Awaitable[None]]
"""Hands the host one line."""

PATIENCE_S: Final = 30.0
"""How long a request is tried again."""

UNREACHED_S: Final = 2.0
"""The same as long as the server has never answered: its address may be wrong."""

LAST_ANSWERS_S: Final = 2.0
"""How long the answers to earlier requests may take once the host has closed its end."""


@dataclass
class Sent:
    """A request that has no response yet."""

    scope: anyio.CancelScope
    is_modern: bool


@dataclass
class Bridge:
    """One host, one server. Nothing is remembered of a host of 2026-07-28 but what its tools mirror in headers."""

    server: str
    token: Token | None
    write: Write
    _sent: dict[str, Sent] = field(default_factory=dict)
    _header_maps: dict[str, HeaderMap] = field(default_factory=dict)
    _was_reached: bool = False
    _negotiated: str | None = None
    """The revision that `initialize` settled, for hosts of the older era."""
    _session_id: str | None = None
    """What a server of the older era wants to be told with every request."""

    async def run(self, lines: AsyncIterable[bytes]) -> None:
        """The host has closed its end, and what it asked before was answered, or given up."""
        async with EndpointClient(checked_url(self.server), self.token) as http:
            with anyio.CancelScope() as all_of_it:
                async with anyio.create_task_group() as group:
                    async for line in lines:
                        if line.strip():
                            await self._take(line, http, group)
                    all_of_it.deadline = anyio.current_time() + LAST_ANSWERS_S

    async def _take(self, line: bytes, http: EndpointClient, group: TaskGroup) -> None:
        try:
            message = read_line(line)
        except Unreadable as fault:
            await self.write(fault.reply)
            return
        if message.method == "notifications/cancelled" and self._cancelled(message):
            return
        if message.request_id is None:
            group.start_soon(self._notify, message, http)
            return
        sent = Sent(anyio.CancelScope(), message.version is not None)
        self._sent[json.dumps(message.request_id)] = sent
        group.start_soon(self._serve, message, sent, http)

    def _cancelled(self, message: Message) -> bool:
        """The request was cancelled by hanging up; False when the server has to be told instead, in the older era."""
        sent = self._sent.get(json.dumps(message.params.get("requestId")))
        if sent is None or not sent.is_modern:
            return message.version is not None or self._negotiated is None
        sent.scope.cancel()
        return True

    async def _notify(self, message: Message, http: EndpointClient) -> None:
        """The server has heard it, or not: a notification has no answer, not even that one."""
        try:
            await http.post(self.server, content=message.line, headers=self._headers(message))
        except (ClientError, httpx2.RequestError):
            return

    async def _serve(self, message: Message, sent: Sent, http: EndpointClient) -> None:
        """The host has a response, unless it cancelled the request."""
        request_id = message.request_id
        assert request_id is not None
        key = json.dumps(request_id)
        try:
            with sent.scope:
                try:
                    await self._forward(message, request_id, http)
                except ClientError as fault:
                    await self.write(error_line(request_id, INTERNAL_ERROR, str(fault)))
        finally:
            if self._sent.get(key) is sent:
                del self._sent[key]

    async def _forward(self, message: Message, request_id: str | int, http: EndpointClient) -> None:
        """The request was answered. It is sent again for as long as that is safe and there is patience."""
        patience = RetryPolicy(PATIENCE_S)
        unreached = RetryPolicy(PATIENCE_S, Deadline(UNREACHED_S))
        has_listed = False
        while True:
            try:
                answer = await self._post(message, request_id, http)
            except AnswerLost as error:
                if message.method == "tools/call":
                    raise
                fault: ServerError = error
            except (Busy, Unreachable) as error:
                fault = error
            else:
                if answer is None:
                    return
                if message.method == "tools/call" and _is_mismatch(answer) and not has_listed:
                    has_listed = True
                    await self._learn(message, http)
                    continue
                await self.write(answer)
                return
            self._was_reached |= not isinstance(fault, Unreachable)
            is_first = isinstance(fault, Unreachable) and not self._was_reached
            pause_s = (unreached if is_first else patience).pause_s(
                fault.retry_after_s if isinstance(fault, Busy) else None
            )
            if pause_s is None:
                raise fault
            await anyio.sleep(pause_s)

    async def _post(self, message: Message, request_id: str | int, http: EndpointClient) -> bytes | None:
        """The response as a line; None when it was written already, at the end of a stream."""
        try:
            async with http.stream(
                "POST", self.server, content=message.line, headers=self._headers(message)
            ) as response:
                self._was_reached = True
                if is_event_stream(response):
                    await self._relay(message, response)
                    return None
                body = await response.aread()
        except httpx2.RequestError as fault:
            raise http.server_error(fault) from fault
        try:
            told = json.loads(body)
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            raise AnswerLost(self.server, f"HTTP {response.status_code} without a JSON-RPC answer")
        self._note(message, told, response.headers.get("mcp-session-id"))
        return addressed(body, told, request_id)

    async def _relay(self, message: Message, response: httpx2.Response) -> None:
        """Every message of the stream is a line; what it belongs to stands in the message itself."""
        try:
            async for event in httpx2.EventSource(response, max_event_size=MAX_ANSWER_BYTES):
                if event.event != "message" or not event.data:
                    continue
                line = one_line(event.data.encode())
                told = json.loads(line)
                if not isinstance(told, dict):
                    raise AnswerLost(self.server, "an event that is none")
                await self.write(line)
                if "result" in told or "error" in told:
                    self._note(message, told, response.headers.get("mcp-session-id"))
                    return
        except (ValueError, RecursionError) as fault:
            raise AnswerLost(self.server, "an event that is none") from fault
        raise AnswerLost(self.server, "the stream ended without a response")

    async def _learn(self, message: Message, http: EndpointClient) -> None:
        """The headers that tools want are known, from a listing that the host did not ask for."""
        meta = message.params.get("_meta", {})
        cursor: str | None = None
        size = 0
        for _ in range(MAX_PAGES):
            params: dict[str, Any] = {"_meta": meta} if cursor is None else {"_meta": meta, "cursor": cursor}
            body = {"jsonrpc": "2.0", "id": "coatcheck-bridge", "method": "tools/list", "params": params}
            listing = Message(json.dumps(body).encode(), "tools/list", params, "coatcheck-bridge")
            answer = await self._post(listing, "coatcheck-bridge", http) or b"{}"
            result = json.loads(answer).get("result")
            cursor = result.get("nextCursor") if isinstance(result, dict) else None
            size += len(answer)
            if cursor is None:
                return
            if size > MAX_ANSWER_BYTES:
                raise AnswerTooLarge(self.server, MAX_ANSWER_BYTES)

    def _note(self, message: Message, told: Mapping[str, Any], session_id: str | None) -> None:
        """What later requests depend on is known from this response."""
        result = told.get("result")
        if not isinstance(result, dict):
            return
        if message.method == "initialize":
            self._session_id = session_id
            self._negotiated = str(result.get("protocolVersion", "")) or None
        elif message.method == "tools/list":
            tools = result.get("tools")
            for tool in tools if isinstance(tools, list) else ():
                if isinstance(tool, dict) and isinstance(schema := tool.get("inputSchema"), dict):
                    self._header_maps[str(tool.get("name"))] = x_mcp_header_map(schema)

    def _headers(self, message: Message) -> dict[str, str]:
        tool = message.params.get("name") if message.method == "tools/call" and message.version is not None else None
        header_map = self._header_maps.get(tool) if isinstance(tool, str) else None
        headers = message.headers(self._negotiated if message.method != "initialize" else None, header_map)
        if self._session_id is not None and message.version is None and message.method != "initialize":
            headers["Mcp-Session-Id"] = self._session_id
        return headers


def _is_mismatch(answer: bytes) -> bool:
    error = json.loads(answer).get("error")
    return isinstance(error, dict) and error.get("code") == HEADER_MISMATCH
