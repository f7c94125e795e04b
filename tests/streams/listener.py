"""A client that listens, and sees every byte that comes."""

import json
import socket
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from tests.web.door import encode, headers_of, request
from tests.web.raw_sockets import head_of, reset

Json = dict[str, Any]

LIMIT_S = 20.0
"""How long a stream may be silent before a test fails."""

SUBSCRIPTION_ID = "io.modelcontextprotocol/subscriptionId"


def listen_request(
    task_ids: list[str] | None = None,
    *,
    wanted: Mapping[str, Any] | None = None,
    **more: Any,
) -> Json:
    """A `subscriptions/listen` for these tasks, or whatever else is wanted."""
    notifications = {"taskIds": task_ids} if wanted is None else wanted
    return request("subscriptions/listen", {"notifications": notifications}, **more)


class Listener:
    """One stream. Messages are read in order; comments are counted."""

    def __init__(
        self, port: int, message: Json, *, headers: Mapping[str, str] | None = None, version: str = "HTTP/1.1"
    ) -> None:
        body = encode(message)
        sent = {**headers_of(message), "Content-Length": str(len(body)), **(headers or {})}
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S)
        self._socket.sendall(head_of(sent).replace(b"HTTP/1.1", version.encode(), 1) + body)
        self._received = b""
        self._is_chunked = False
        self._raw = b""
        self.comments = 0

    @property
    def connection(self) -> socket.socket:
        """The connection, to be mistreated."""
        return self._socket

    def head(self) -> tuple[int, dict[str, str]]:
        """Status and headers, names in lower case; to be read first."""
        status, *lines = self._until(b"\r\n\r\n").decode().splitlines()
        pairs = (line.partition(": ") for line in lines if line)
        headers = {name.lower(): value for name, _, value in pairs}
        if headers.get("transfer-encoding") == "chunked":
            self._is_chunked, self._raw, self._received = True, self._received, b""
        return int(status.split()[1]), headers

    def begun(self) -> Self:
        """The listener, past the head of a stream that was granted."""
        status, _ = self.head()
        assert status == 200, self.rest()
        return self

    def message(self) -> Json:
        """The next message."""
        while True:
            event = self._until(b"\n\n").decode()
            if event.startswith(":"):
                self.comments += 1
                continue
            name, data, _ = event.splitlines()  # no id: there is no replay
            assert name == "event: message", event
            message: Json = json.loads(data.removeprefix("data: "))
            return message

    def comment(self) -> None:
        """A comment has come, and nothing before it."""
        assert self._until(b"\n\n").startswith(b":")
        self.comments += 1

    def state(self) -> Json:
        """The next message, a task's state as `tasks/get` would have it."""
        message = self.message()
        assert message["method"] == "notifications/tasks", message
        return {name: value for name, value in message["params"].items() if name != "_meta"}

    def acknowledged(self) -> list[str]:
        """The tasks that the next message, an acknowledgement, names."""
        message = self.message()
        assert message["method"] == "notifications/subscriptions/acknowledged", message
        task_ids: list[str] = message["params"]["notifications"]["taskIds"]
        return task_ids

    def until(self, status: str) -> Json:
        """The next state with this status."""
        while (state := self.state())["status"] != status:
            pass
        return state

    def ended(self) -> Json:
        """The response that ends the stream, after which nothing comes."""
        message = self.message()
        assert "result" in message, message
        assert self.rest() == b""
        result: Json = message["result"]
        return result

    def rest(self) -> bytes:
        """Everything up to the end of the stream."""
        try:
            while piece := self._piece():
                self._received += piece
        except ConnectionResetError:
            pass
        rest, self._received = self._received, b""
        return rest

    def reset(self) -> None:
        """The client is gone without a goodbye."""
        reset(self._socket)

    def close(self) -> None:
        """The client has left."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _until(self, end: bytes) -> bytes:
        while end not in self._received:
            piece = self._piece()
            assert piece, f"the stream ended: {self._received!r}"
            self._received += piece
        found, _, self._received = self._received.partition(end)
        return found + end

    def _piece(self) -> bytes:
        """The next piece of the body, nothing at its end. Source: RFC 9112, section 7.1."""
        if not self._is_chunked:
            return self._socket.recv(65_536)
        while b"\r\n" not in self._raw:
            if not self._receive():
                return b""
        line, _, self._raw = self._raw.partition(b"\r\n")
        size = int(line, 16)
        while len(self._raw) < size + 2:
            if not self._receive():
                return b""
        piece, self._raw = self._raw[:size], self._raw[size + 2 :]
        return piece

    def _receive(self) -> bool:
        piece = self._socket.recv(65_536)
        self._raw += piece
        return bool(piece)
