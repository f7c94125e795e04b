"""A real HTTP server that speaks just enough of the protocol to misbehave.

It stands for the servers that ours is not: older ones, broken ones, ones behind broken networks. What ours does is
tested against ours.
"""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

TASKS = "io.modelcontextprotocol/tasks"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that came in."""

    method: str
    params: Json
    headers: Mapping[str, str]
    message_id: Any


@dataclass(frozen=True, slots=True)
class Result:
    """A JSON-RPC result."""

    value: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Error:
    """A JSON-RPC error."""

    code: int
    message: str = "no"
    status: int = 400
    data: Any = None


@dataclass(frozen=True, slots=True)
class Raw:
    """An HTTP response as it is."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stream:
    """An event stream: these messages, and then its end, unless `is_held` keeps it open until the client leaves."""

    messages: Sequence[Mapping[str, Any]] = ()
    is_held: bool = False


class Hangup:
    """The connection is closed without an answer."""


Reply = Result | Error | Raw | Stream | Hangup
Script = Callable[[Asked], Reply]

DISCOVERED = {
    "resultType": "complete",
    "supportedVersions": ["2026-07-28"],
    "capabilities": {"tools": {}, "extensions": {TASKS: {}}},
    "ttlMs": 0,
    "cacheScope": "private",
    "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "scripted", "version": "1"}},
}


def discovered(name: str = "scripted", **extensions: Json) -> Result:
    """What a server of this name and with these extensions says of itself."""
    meta = {"io.modelcontextprotocol/serverInfo": {"name": name, "version": "1"}}
    return Result({**DISCOVERED, "capabilities": {"tools": {}, "extensions": extensions}, "_meta": meta})


def task(status: str = "working", **more: Any) -> Json:
    """A task as the wire describes it."""
    return {
        "resultType": "complete",
        "taskId": "t-1",
        "status": status,
        "createdAt": "2026-11-29T10:00:00Z",
        "lastUpdatedAt": "2026-11-29T10:00:00Z",
        "ttlMs": None,
        "pollIntervalMs": 20,
        **more,
    }


def created(**more: Any) -> Result:
    """The handle of that task."""
    return Result({**task(**more), "resultType": "task"})


def completed(text: str = "done") -> Result:
    """That task, completed."""
    content = {"resultType": "complete", "content": [{"type": "text", "text": text}]}
    return Result(task("completed", result=content))


def asking(*keys: str) -> Result:
    """That task, asking for these inputs."""
    form = {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}}
    return Result(
        task("input_required", inputRequests={k: {"method": "elicitation/create", "params": form} for k in keys})
    )


class Scripted:
    """Answers each method with the replies of its script in turn, the last of them for ever; unknown ones with -32601.

    A script is a reply, a list of them, or a function from what was asked to a reply.
    """

    def __init__(self, scripts: Mapping[str, Reply | Script | list[Reply | Script]]) -> None:
        self.asked: list[Asked] = []
        self._left = {method: list(steps) if isinstance(steps, list) else [steps] for method, steps in scripts.items()}
        self._left.setdefault("server/discover", [Result(DISCOVERED)])
        self._lock = threading.Lock()
        self._closing = threading.Event()
        scripted = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                scripted._answer(self)

            def do_GET(self) -> None:
                self.send_error(405)

            def log_message(self, *_: object) -> None:
                """Nothing is printed."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = False
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        """The endpoint."""
        return f"http://127.0.0.1:{self._server.server_port}/mcp"

    def methods(self) -> list[str]:
        """What was asked, in order."""
        with self._lock:
            return [asked.method for asked in self.asked]

    def of(self, method: str) -> list[Asked]:
        """The requests of this method."""
        with self._lock:
            return [asked for asked in self.asked if asked.method == method]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in handler.headers.items()}
        asked = Asked(body["method"], body.get("params", {}), headers, body.get("id"))
        with self._lock:
            self.asked.append(asked)
            steps = self._left.get(asked.method, [Error(-32601, "no such method", 404)])
            step = steps.pop(0) if len(steps) > 1 else steps[0]
        reply = step(asked) if callable(step) else step
        handler.close_connection = True
        if isinstance(reply, Result):
            self._send(handler, 200, {"jsonrpc": "2.0", "id": asked.message_id, "result": reply.value})
        elif isinstance(reply, Error):
            error = {"code": reply.code, "message": reply.message}
            if reply.data is not None:
                error["data"] = reply.data
            self._send(handler, reply.status, {"jsonrpc": "2.0", "id": asked.message_id, "error": error})
        elif isinstance(reply, Raw):
            self._send(handler, reply.status, reply.body, reply.headers)
        elif isinstance(reply, Stream):
            self._stream(handler, asked, reply)

    def _send(
        self, handler: BaseHTTPRequestHandler, status: int, body: Any, headers: Mapping[str, str] | None = None
    ) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        for name, value in (headers or {"Content-Type": "application/json"}).items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(content)))
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(content)

    def _stream(self, handler: BaseHTTPRequestHandler, asked: Asked, stream: Stream) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        try:
            for message in stream.messages:
                told = json.loads(json.dumps(message).replace("$id", str(asked.message_id)))
                handler.wfile.write(f"data: {json.dumps(told)}\n\n".encode())
                handler.wfile.flush()
            while stream.is_held and not self._closing.wait(0.02):
                handler.wfile.write(b": still here\n\n")
                handler.wfile.flush()
        except OSError:
            return


def acknowledged(*task_ids: str) -> Json:
    """The first message of a stream."""
    return _told("notifications/subscriptions/acknowledged", notifications={"taskIds": list(task_ids)})


def told(described: Mapping[str, Any]) -> Json:
    """A task's change on a stream."""
    return _told("notifications/tasks", **{name: value for name, value in described.items() if name != "resultType"})


def _told(method: str, **params: Any) -> Json:
    return {"jsonrpc": "2.0", "method": method, "params": {**params, "_meta": {SUBSCRIPTION: "$id"}}}
