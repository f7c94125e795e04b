"""Many listeners on one server: sockets that only read."""

import selectors
import socket
import time
from types import TracebackType
from typing import Self

PATIENCE_S = 30.0
"""How long anything may take that listeners wait for."""

RECEIVE_BYTES = 65_536

ANSWERED = b"\r\n\r\n"
"""The end of an answer's head."""


class NotHeard(Exception):
    """Some listener has not seen in time what all should see."""


class Listeners:
    """Open streams. Each keeps what has come on it."""

    def __init__(self, port: int, request: bytes, count: int) -> None:
        self._selector = selectors.DefaultSelector()
        self._received: dict[socket.socket, bytearray] = {}
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", port))
            connection.sendall(request)
            self._selector.register(connection, selectors.EVENT_READ)
            self._received[connection] = bytearray()

    def wait_for(self, text: bytes) -> list[bytes]:
        """All listeners have received the text; the line of each in which it stands, without its field name.

        Raises:
            NotHeard: one of them has not, or was closed.
        """
        waiting = {line for line, received in self._received.items() if text not in received}
        end = time.perf_counter() + PATIENCE_S
        while waiting:
            left = end - time.perf_counter()
            ready = self._selector.select(left) if left > 0 else []
            if not ready:
                raise NotHeard(f"{len(waiting)} of {len(self._received)} listeners heard nothing of {text!r}")
            for key, _ in ready:
                line = key.fileobj
                assert isinstance(line, socket.socket)
                piece = line.recv(RECEIVE_BYTES)
                received = self._received[line]
                searched = max(0, len(received) - len(text))
                received += piece
                if received.find(text, searched) >= 0:
                    waiting.discard(line)
                elif not piece:
                    raise NotHeard(f"a stream ended: {bytes(received[-500:])!r}")
        return [_line_with(text, received) for received in self._received.values()]

    def wait_for_streams(self) -> None:
        """Every listener has its stream.

        Raises:
            NotHeard: the server does not offer them, or not so many.
        """
        self.wait_for(ANSWERED)
        heads = [bytes(received).partition(ANSWERED)[0] for received in self._received.values()]
        refused = [head for head in heads if not (head.startswith(b"HTTP/1.1 200") and b"text/event-stream" in head)]
        if len(refused) == len(heads):
            raise NotHeard("not offered")
        if refused:
            raise NotHeard(f"{len(refused)} of {len(heads)} streams were refused: {refused[0][:20]!r}")

    def close(self) -> None:
        """The streams are closed by their readers."""
        for line in self._received:
            line.close()
        self._selector.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _line_with(text: bytes, received: bytearray) -> bytes:
    found = received.find(text)
    begin = received.rfind(b"\n", 0, found) + 1
    end = received.find(b"\n", found)
    return bytes(received[begin : end if end >= 0 else None]).strip().removeprefix(b"data:").strip()
