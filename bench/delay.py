"""A proxy before a server on a unix socket that makes the way longer: `python -m bench.delay LISTEN TARGET MS`."""

import selectors
import socket
import sys
import time
from collections import deque
from contextlib import suppress

RECEIVE_BYTES = 262_144

QUANTUM_S = 0.0002
"""The pause between two looks while something is held: a look for each piece alone would cost more processor time."""


class Delay:
    """Passes on what it receives, in both directions, each piece on average `delay_s` after it came.

    The delay is the same for all pieces, so they leave in the order in which they came, and none waits for the answer
    to another.
    """

    def __init__(self, listener: socket.socket, target: str, delay_s: float) -> None:
        self._listener = listener
        self._target = target
        # Half a quantum goes by before a piece is seen, and half of one before it is seen to be due.
        self._delay_s = delay_s - QUANTUM_S
        self._selector = selectors.DefaultSelector()
        self._selector.register(listener, selectors.EVENT_READ)
        self._other_end: dict[socket.socket, socket.socket] = {}
        self._held: deque[tuple[float, socket.socket, bytes]] = deque()
        """When each piece leaves, and for where; an empty piece is the end of a connection."""

    def serve(self) -> None:
        """Pass on until the process is killed."""
        while True:
            if self._held:
                time.sleep(QUANTUM_S)
            for key, _ in self._selector.select(0 if self._held else None):
                assert isinstance(key.fileobj, socket.socket)
                if key.fileobj is self._listener:
                    self._accept()
                elif key.fileobj in self._other_end:
                    self._receive(key.fileobj)
            now = time.perf_counter()
            while self._held and self._held[0][0] <= now:
                _, end, piece = self._held.popleft()
                self._send(end, piece)

    def _accept(self) -> None:
        near, _ = self._listener.accept()
        far = socket.socket(socket.AF_UNIX)
        far.connect(self._target)
        for one, other in ((near, far), (far, near)):
            self._other_end[one] = other
            self._selector.register(one, selectors.EVENT_READ)

    def _receive(self, end: socket.socket) -> None:
        piece = b""
        with suppress(OSError):
            piece = end.recv(RECEIVE_BYTES)
        if not piece:
            self._selector.unregister(end)
        self._held.append((time.perf_counter() + self._delay_s, self._other_end[end], piece))

    def _send(self, end: socket.socket, piece: bytes) -> None:
        if end not in self._other_end:
            return
        try:
            if piece:
                end.sendall(piece)
                return
        except OSError:
            pass  # it is closed, as at the end of a connection
        for one in (end, self._other_end[end]):
            del self._other_end[one]
            if one.fileno() in self._selector.get_map():
                self._selector.unregister(one)
            one.close()


def main(listen: str, target: str, milliseconds: str) -> None:
    """Serve one address; "ready" is printed when it can be connected to."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(listen)
        listener.listen(1024)
        print("ready", flush=True)
        Delay(listener, target, float(milliseconds) / 1000).serve()


if __name__ == "__main__":
    main(*sys.argv[1:])
