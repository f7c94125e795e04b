"""A small client of the wire: valid requests of 2026-07-28, the answers whole."""

import itertools
import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx

from tests.support.waiting import wait_until

VERSION = "2026-07-28"
TASKS = "io.modelcontextprotocol/tasks"
META = "io.modelcontextprotocol/"

WITH_TASKS: Mapping[str, Any] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {},
    "roots": {},
    "extensions": {TASKS: {}},
}
"""The capabilities of a client that can do everything."""

TERMINAL = ("completed", "failed", "cancelled")

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer, whole."""

    status: int
    headers: httpx.Headers
    body: Json
    """The JSON-RPC response; of an event stream, its last message."""
    notifications: tuple[Json, ...] = ()
    """What an event stream carried before the response."""

    @property
    def result(self) -> Json:
        """The result of a request that succeeded."""
        assert self.status == 200, self
        result: Json = self.body["result"]
        return result

    @property
    def error(self) -> Json:
        """The error of a request that did not."""
        error: Json = self.body["error"]
        return error


class Client:
    """One caller. Each request carries its own capabilities; nothing is remembered between two of them."""

    def __init__(
        self,
        url: str,
        *,
        capabilities: Mapping[str, Any] = WITH_TASKS,
        headers: Mapping[str, str] | None = None,
        timeout: float = 30.0,
    ) -> None:
        self.url = url
        self.capabilities = capabilities
        self._http = httpx.Client(headers=dict(headers or {}), timeout=timeout, trust_env=False)
        self._ids = itertools.count(1)

    def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        meta: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        without: Collection[str] = (),
    ) -> Reply:
        """The answer to one request, its headers mirrored from its body; `headers` replace or add to them, `without`
        names those that are left out."""
        message, sent = self._message(method, params or {}, meta or {})
        sent = {name: value for name, value in {**sent, **(headers or {})}.items() if name not in without}
        response = self._http.post(self.url, json=message, headers=sent)
        return _read(response)

    def discover(self) -> Reply:
        """What the server says of itself."""
        return self.request("server/discover")

    def list(self, cursor: str | None = None) -> Reply:
        """One page of tools."""
        return self.request("tools/list", {} if cursor is None else {"cursor": cursor})

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, **more: Any) -> Reply:
        """The answer to a tool call; `meta=…` and `params=…` add to the request."""
        params = {"name": tool, "arguments": dict(arguments or {}), **more.pop("params", {})}
        return self.request("tools/call", params, **more)

    def start(self, tool: str, arguments: Mapping[str, Any] | None = None, **more: Any) -> str:
        """The id of the task that a tool call became."""
        result = self.call(tool, arguments, **more).result
        assert result["resultType"] == "task", result
        task_id: str = result["taskId"]
        return task_id

    def get(self, task_id: str) -> Reply:
        """The task as it stands."""
        return self.request("tasks/get", {"taskId": task_id})

    def update(self, task_id: str, responses: Mapping[str, Any]) -> Reply:
        """The acknowledgement of answers to outstanding inputs."""
        return self.request("tasks/update", {"taskId": task_id, "inputResponses": dict(responses)})

    def cancel(self, task_id: str) -> Reply:
        """The acknowledgement of a wish to cancel."""
        return self.request("tasks/cancel", {"taskId": task_id})

    def wait_for(self, task_id: str, *statuses: str, timeout: float = 20.0) -> Json:
        """The task once it has one of these statuses, by default a terminal one."""
        wanted = statuses or TERMINAL

        def reached() -> Json | None:
            task = self.get(task_id).result
            assert task["status"] in wanted or task["status"] not in TERMINAL, task
            return task if task["status"] in wanted else None

        task = wait_until(reached, timeout, f"{wanted} of task {task_id}")
        assert task is not None
        return task

    @contextmanager
    def listen(self, *task_ids: str) -> Iterator[Iterator[Json]]:
        """The messages of a subscription to these tasks, as they come."""
        params = {"notifications": {"taskIds": list(task_ids)}}
        with self.streamed("subscriptions/listen", params, {}) as messages:
            yield messages

    @contextmanager
    def streamed(self, method: str, params: Mapping[str, Any], meta: Mapping[str, Any]) -> Iterator[Iterator[Json]]:
        """The messages of an answer that comes as a stream, as they come; its head is there when the block begins."""
        message, sent = self._message(method, params, meta)
        with self._http.stream("POST", self.url, json=message, headers=sent) as response:
            assert response.status_code == 200, response.read()
            yield _events(response.iter_lines())

    def close(self) -> None:
        """The client holds no connection."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _message(self, method: str, params: Mapping[str, Any], meta: Mapping[str, Any]) -> tuple[Json, dict[str, str]]:
        full_meta = {
            f"{META}protocolVersion": VERSION,
            f"{META}clientInfo": {"name": "coatcheck-tests", "version": "1"},
            f"{META}clientCapabilities": dict(self.capabilities),
            **meta,
        }
        body = {
            "jsonrpc": "2.0",
            "id": next(self._ids),
            "method": method,
            "params": {**params, "_meta": full_meta},
        }
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": VERSION,
            "Mcp-Method": method,
        }
        name = params.get("name") if method == "tools/call" else params.get("taskId")
        if name is not None:
            headers["Mcp-Name"] = name
        return body, headers


def _read(response: httpx.Response) -> Reply:
    if response.headers.get("Content-Type", "").startswith("text/event-stream"):
        *before, last = _events(iter(response.text.splitlines()))
        return Reply(response.status_code, response.headers, last, tuple(before))
    return Reply(response.status_code, response.headers, response.json() if response.content else {})


def _events(lines: Iterator[str]) -> Iterator[Json]:
    """The messages in a stream of server-sent events; comments and other fields are left out."""
    data: list[str] = []
    for line in lines:
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and data:
            yield json.loads("\n".join(data))
            data = []
