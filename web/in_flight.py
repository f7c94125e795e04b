"""The memory that slow clients hold: large bodies that arrive, and large answers that are not taken yet."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import gevent
from greenlet import greenlet

LARGE: Final = 32 * 1024
"""Bytes; what is smaller is bounded by the number of connections."""

MOST: Final = 32 * 1024 * 1024
"""Bytes of large bodies and answers that one process holds at a time."""

PIECE: Final = 64 * 1024
"""Bytes of a stream that are handed to the server at a time, since it copies each piece."""


class TooSlow(TimeoutError):
    """The client held its memory for longer than anybody else when there was no more."""


class InFlight:
    """Bounds what all clients of a process hold. When it is too much, the client that has held its part longest is cut
    off: one that reads or sends at an ordinary speed is done long before."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._bytes: dict[greenlet, int] = {}
        """By greenlet, the oldest first."""
        self._total = 0

    @contextmanager
    def hold(self, size: int) -> Iterator[None]:
        """Hold so many bytes for the length of the block, in which TooSlow can be raised at any wait."""
        if size <= LARGE:
            yield
            return
        me = gevent.getcurrent()
        self._total += size
        while self._total > self._most and self._bytes:
            oldest = next(iter(self._bytes))
            self._total -= self._bytes.pop(oldest)
            gevent.kill(oldest, TooSlow("Too slow for so large a message"))
        self._bytes[me] = size
        try:
            yield
        finally:
            self._total -= self._bytes.pop(me, 0)

    def whole(self, data: bytes) -> Iterator[bytes]:
        """Yield the data, and hold it until it is taken."""
        with self.hold(len(data)):
            yield data

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield the data in pieces, and hold it until all of them are taken."""
        with self.hold(len(data)):
            for start in range(0, len(data), PIECE):
                yield data[start : start + PIECE]
