"""The load client, the same for all sides: one thread, a socket for each caller, little work for each request."""

import heapq
import itertools
import re
import selectors
import socket
import time
from collections.abc import Generator, Iterable
from math import inf
from types import TracebackType
from typing import Self

Caller = Generator[bytes | float, bytes, None]
"""What one caller does. It yields a request and is sent the body of its answer, or yields seconds and is sent nothing
of interest after that pause."""

RECEIVE_BYTES = 262_144

_LENGTH = re.compile(rb"\r\ncontent-length: *([0-9]+)", re.IGNORECASE)


class RequestFailed(Exception):
    """A request was not answered as it has to be for its time to count."""


class _Line:
    """One caller and its connection."""

    def __init__(self, port: int, caller: Caller) -> None:
        self.caller = caller
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = bytearray()
        self.body_at = 0
        self.end_at = 0
        """Where the answer that is arriving ends; 0 as long as its head is not here."""

    def receive(self) -> bytes | None:
        """The body of the answer, once it is whole."""
        piece = self.socket.recv(RECEIVE_BYTES)
        if not piece:
            raise RequestFailed(f"connection closed after {bytes(self.received[:500])!r}")
        self.received += piece
        if not self.end_at:
            head_end = self.received.find(b"\r\n\r\n")
            if head_end < 0:
                return None
            head = bytes(self.received[:head_end])
            length = _LENGTH.search(head)
            if length is None:
                raise RequestFailed(f"an answer without a length: {head!r}")
            self.body_at = head_end + 4
            self.end_at = self.body_at + int(length[1])
        if len(self.received) < self.end_at:
            return None
        if not self.received.startswith(b"HTTP/1.1 200"):
            raise RequestFailed(bytes(self.received[:800]).decode(errors="replace"))
        body = bytes(self.received[self.body_at : self.end_at])
        del self.received[: self.end_at]
        self.end_at = 0
        return body


class Load:
    """Callers at work on one server. They keep their connections and their places between two calls of `go_on`."""

    def __init__(self, port: int, callers: Iterable[Caller]) -> None:
        self._selector = selectors.DefaultSelector()
        self._pauses: list[tuple[float, int, _Line]] = []
        self._numbers = itertools.count()
        self._lines = {_Line(port, caller) for caller in callers}
        for line in self._lines:
            self._selector.register(line.socket, selectors.EVENT_READ, line)
        self._first = True

    def go_on(self, seconds: float = inf) -> int:
        """The callers went on for this long, or until all of them had ended; how many answers came.

        Raises:
            RequestFailed: anything but 200, or a lost connection.
        """
        if self._first:
            self._first = False
            for line in list(self._lines):
                self._advance(line, None)
        answers = 0
        end = time.perf_counter() + seconds
        while self._lines and (now := time.perf_counter()) < end:
            while self._pauses and self._pauses[0][0] <= now:
                self._advance(heapq.heappop(self._pauses)[2], b"")
            wake = min(end, self._pauses[0][0]) if self._pauses else end
            for key, _ in self._selector.select(None if wake == inf else max(0.0, wake - now)):
                body = key.data.receive()
                if body is not None:
                    answers += 1
                    self._advance(key.data, body)
        return answers

    def close(self) -> None:
        """The connections are closed."""
        for line in list(self._lines):
            self._end(line)
        self._selector.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _advance(self, line: _Line, body: bytes | None) -> None:
        """The caller has its answer and does what it does next."""
        try:
            wish = next(line.caller) if body is None else line.caller.send(body)
        except StopIteration:
            self._end(line)
            return
        if isinstance(wish, bytes):
            line.socket.sendall(wish)
        else:
            heapq.heappush(self._pauses, (time.perf_counter() + wish, next(self._numbers), line))

    def _end(self, line: _Line) -> None:
        self._lines.discard(line)
        self._selector.unregister(line.socket)
        line.socket.close()


def ask(port: int, request: bytes) -> bytes:
    """The body of the answer to one request."""
    answers: list[bytes] = []

    def once() -> Caller:
        answers.append((yield request))

    with Load(port, [once()]) as load:
        load.go_on()
    return answers[0]
