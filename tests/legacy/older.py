"""A small client of the older revisions: its requests one by one, the answers whole."""

import itertools
import json
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx

from tests.support.waiting import wait_until

RELATED = "io.modelcontextprotocol/related-task"

DEFAULTS = {"gift": True, "number": 1}
"""What the form of the tool `choose` fills in where an answer leaves it out."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer, whole."""

    status: int
    headers: httpx.Headers
    messages: tuple[Any, ...]
    """The messages of an event stream, or the one that the body is."""

    @property
    def body(self) -> Any:
        """The response: the last message."""
        return self.messages[-1]

    @property
    def result(self) -> Json:
        """The result of a request that succeeded."""
        assert self.status == 200, self
        result: Json = self.body["result"]
        return result

    @property
    def refusal(self) -> tuple[int, int]:
        """HTTP status and JSON-RPC code of a request that was refused."""
        return self.status, self.body["error"]["code"]

    @property
    def text(self) -> str:
        """The first text of a tool's result."""
        text: str = self.result["content"][0]["text"]
        return text


class Older:
    """One caller of an older revision; without a name it sends no version."""

    def __init__(
        self,
        url: str,
        revision: str | None = "2025-11-25",
        *,
        headers: Mapping[str, str] | None = None,
        verify: ssl.SSLContext | bool = True,
    ) -> None:
        self._url = url
        version = {} if revision is None else {"MCP-Protocol-Version": revision}
        accepts = {"Accept": "application/json, text/event-stream"}
        given = {**accepts, **version, **(headers or {})}
        self._http = httpx.Client(headers=given, timeout=60.0, trust_env=False, verify=verify)
        self._ids = itertools.count(1)

    def send(self, body: object, **headers: str) -> Reply:
        """The answer to this body."""
        response = self._http.post(self._url, json=body, headers={k.replace("_", "-"): v for k, v in headers.items()})
        if response.headers.get("Content-Type", "").startswith("text/event-stream"):
            return Reply(response.status_code, response.headers, tuple(events(iter(response.text.split("\n")))))
        whole = (response.json(),) if response.content else ()
        return Reply(response.status_code, response.headers, whole)

    def request(self, method: str, params: Mapping[str, Any] | None = None, **headers: str) -> Reply:
        """The answer to one request."""
        return self.send(self.message(method, params), **headers)

    def message(self, method: str, params: Mapping[str, Any] | None = None) -> Json:
        """A request with an id of its own."""
        return {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": dict(params or {})}

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, **more: Any) -> Reply:
        """The answer to a tool call; `task=…` and `_meta=…` add to its parameters."""
        return self.request("tools/call", {"name": tool, "arguments": dict(arguments or {}), **more})

    def start(self, tool: str, arguments: Mapping[str, Any] | None = None, **task: Any) -> str:
        """The id of the task that a tool call became."""
        task_id: str = self.call(tool, arguments, task=task).result["task"]["taskId"]
        return task_id

    def get(self, task_id: str) -> Reply:
        """The task as it stands."""
        return self.request("tasks/get", {"taskId": task_id})

    def outcome(self, task_id: str) -> Reply:
        """What the task's call is answered with, once it is."""
        return self.request("tasks/result", {"taskId": task_id})

    def cancel(self, task_id: str) -> Reply:
        """The answer to a wish to cancel."""
        return self.request("tasks/cancel", {"taskId": task_id})

    def respond(self, request_id: object, result: object) -> Reply:
        """The answer to a response of ours to a request of the server's."""
        return self.send({"jsonrpc": "2.0", "id": request_id, "result": result})

    def wait_for(self, task_id: str, status: str, timeout: float = 20.0) -> Json:
        """The task once it has this status."""

        def reached() -> Json | None:
            task = self.get(task_id).result
            return task if task["status"] == status else None

        task = wait_until(reached, timeout, f"{status} of task {task_id}")
        assert task is not None
        return task

    @contextmanager
    def stream(self, method: str, params: Mapping[str, Any]) -> Iterator[Iterator[Json]]:
        """The messages that answer a request, as they come."""
        with self._http.stream("POST", self._url, json=self.message(method, params)) as response:
            assert response.status_code == 200, response.read()
            yield events(response.iter_lines())

    def close(self) -> None:
        """The client holds no connection."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def accepted(**content: object) -> Json:
    """The result of a form that was filled in."""
    return {"action": "accept", "content": content}


def questions(messages: Iterator[Json]) -> Iterator[Json]:
    """The requests among these messages."""
    return (message for message in messages if "id" in message and "method" in message)


def events(lines: Iterator[str]) -> Iterator[Any]:
    """The messages in a stream of server-sent events; comments and other fields are left out."""
    data: list[str] = []
    for line in lines:
        if line.startswith("data:"):
            data.append(line.removeprefix("data:").removeprefix(" "))
        elif not line and data:
            yield json.loads("\n".join(data))
            data = []
