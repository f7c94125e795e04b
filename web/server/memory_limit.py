"""The memory that clients hold: bodies that arrive, answers that are not taken yet, calls that wait."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

import gevent
from gevent.lock import BoundedSemaphore
from greenlet import greenlet

from coatcheck.web.errors import TooManyWaiting
from coatcheck.web.protocol.response import ResponseGenerator
from coatcheck.web.server.threads import LARGE_BODY_BYTES

MAX_HELD_BYTES: Final = 24 * 1024 * 1024
"""Bytes of large bodies and answers that one process holds before it gives up slow clients."""

MAX_HELD_BYTES_BRIEFLY: Final = 40 * 1024 * 1024
"""The same, however quick the clients are."""

SLOW_AFTER_S: Final = 1.0
"""How long a client can hold its part whatever others want."""

CHUNK_BYTES: Final = 64 * 1024
"""Bytes that are read of a body, and handed to the server of a stream, at a time."""

MAX_WAITING_BODY_BYTES: Final = 8 * 1024 * 1024
"""Bytes of the bodies of calls that wait and of streams. What is made of a body has many times its size."""


MAX_LARGE_REQUESTS: Final = 4
"""Requests with large bodies that are worked on at a time, up to their answer or their wait for one."""


class ClientTooSlow(TimeoutError):
    """The client held its memory for longer than anybody else when there was no more."""


class HeldMemory:
    """What one greenlet holds."""

    def __init__(self, holder: greenlet) -> None:
        self.holder = holder
        self.since = time.monotonic()
        self.size = 0
        self.is_over = False


class MemoryLimit:
    """Bounds what all clients of a process hold.

    When it is too much, the client that has held its part longest is cut off: one that reads or sends at an ordinary
    speed is done before.
    """

    def __init__(self) -> None:
        self._held: dict[HeldMemory, None] = {}
        """The oldest first."""
        self._total = 0

    @contextmanager
    def hold(self, size: int = 0) -> Iterator[Callable[[int], None]]:
        """Hold so many bytes for the length of the block, in which TooSlow can be raised at any wait.

        The block can hold more of them by what it is given.
        """
        mine = HeldMemory(gevent.getcurrent())
        self._held[mine] = None
        try:
            self._grow(mine, size)
            yield partial(self._grow, mine)
        finally:
            mine.is_over = True
            self._release(mine)

    def whole(self, data: bytes) -> Iterator[bytes]:
        """Yield the data, and hold it until it is taken."""
        with self.hold(len(data)):
            yield data

    def chunks(self, data: bytes) -> Iterator[bytes]:
        """Yield the data in pieces, and hold it until all of them are taken."""
        if len(data) <= CHUNK_BYTES:
            yield data
            return
        with self.hold(len(data)):
            for start in range(0, len(data), CHUNK_BYTES):
                yield data[start : start + CHUNK_BYTES]

    def _grow(self, mine: HeldMemory, size: int) -> None:
        if mine not in self._held:
            return  # given up, and about to hear of it
        mine.size += size
        self._total += size
        while self._total > MAX_HELD_BYTES:
            oldest = next(iter(self._held))
            is_slow = time.monotonic() - oldest.since > SLOW_AFTER_S
            if oldest is mine or (self._total <= MAX_HELD_BYTES_BRIEFLY and not is_slow):
                break
            self._release(oldest)
            gevent.get_hub().loop.run_callback(_cut, oldest)

    def _release(self, one: HeldMemory) -> None:
        if one in self._held:
            del self._held[one]
            self._total -= one.size


def _cut(one: HeldMemory) -> None:
    """Raise TooSlow where the holder waits, unless it is done meanwhile. Called by the loop."""
    if not one.is_over:
        one.holder.throw(ClientTooSlow("Too slow for so large a message"))


class LargeRequestLimit:
    """Lets a few large requests be worked on at a time: what is made of a body has many times its size."""

    def __init__(self, memory: MemoryLimit) -> None:
        self._memory = memory
        self._free = BoundedSemaphore(MAX_LARGE_REQUESTS)

    @contextmanager
    def slot(self, size: int) -> Iterator[None]:
        """Wait for a turn, holding so many bytes meanwhile, and have it for the length of the block.

        Raises:
            TooManyWaiting: too many others wait.
        """
        try:
            with self._memory.hold(size):
                self._free.acquire()
        except ClientTooSlow as fault:
            raise TooManyWaiting("Too many large requests have come together; try again") from fault
        try:
            yield
        finally:
            self._free.release()


class WaitingBodyLimit:
    """Bounds the large bodies of calls that wait and of streams: parts of them are in memory for as long."""

    def __init__(self) -> None:
        self._total = 0

    def hold(self, answering: ResponseGenerator, size: int) -> ResponseGenerator:
        """Return the wait, which holds so many bytes until it ends. Raises TooManyWaiting."""
        if size <= LARGE_BODY_BYTES:
            return answering  # bounded by the number of calls; who has large ones shuts out nobody with a small one
        if self._total + size > MAX_WAITING_BODY_BYTES:
            raise TooManyWaiting("Too many calls with large arguments are waiting; try again, or use tasks")
        self._total += size
        counted = self._counted(answering, size)
        next(counted)  # begun, so that whatever ends it reaches its end
        return counted

    def _counted(self, answering: ResponseGenerator, size: int) -> ResponseGenerator:
        try:
            yield None
            return (yield from answering)
        finally:
            self._total -= size
