"""Limit the memory that clients occupy: incoming bodies, responses that are not read yet, waiting calls."""

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
from coatcheck.web.server.threads import LARGE_BODY_BYTES, is_cooperative

MAX_HELD_BYTES: Final = 24 * 1024 * 1024
"""Bytes of large bodies and responses in one process above which slow clients are cut off."""

MAX_HELD_BYTES_BRIEFLY: Final = 40 * 1024 * 1024
"""Bytes above which the oldest client is cut off even if it is not slow."""

SLOW_AFTER_S: Final = 1.0
"""Seconds after which a client that still occupies memory counts as slow."""

CHUNK_BYTES: Final = 64 * 1024
"""Bytes of one read of a body, and of one write of a stream."""

MAX_WAITING_BODY_BYTES: Final = 8 * 1024 * 1024
"""Bytes of the bodies of waiting calls and streams. A parsed body takes many times its size."""


MAX_LARGE_REQUESTS: Final = 4
"""Requests with large bodies that are processed at a time, until they are answered or wait for a job."""


class ClientTooSlow(TimeoutError):
    """The client was the slowest one when memory ran short."""


class HeldMemory:
    """The memory that one greenlet holds."""

    def __init__(self, holder: greenlet) -> None:
        self.holder = holder
        self.since = time.monotonic()
        self.size = 0
        self.is_over = False


class MemoryLimit:
    """Limits the memory that all clients of a process hold.

    Above the limit, the client that has held memory longest is cut off. A client of ordinary speed finishes earlier.
    Where each request has a thread, the number of threads is the limit.
    """

    def __init__(self) -> None:
        self._held: dict[HeldMemory, None] = {}
        """In the order of their age, the oldest first."""
        self._total = 0

    @contextmanager
    def hold(self, size: int = 0) -> Iterator[Callable[[int], None]]:
        """Hold `size` bytes for the length of the block, in which ClientTooSlow can be raised at any wait.

        The block receives a function that adds bytes.
        """
        if not is_cooperative():
            yield lambda _size: None
            return
        mine = HeldMemory(gevent.getcurrent())
        self._held[mine] = None
        try:
            self._grow(mine, size)
            yield partial(self._grow, mine)
        finally:
            mine.is_over = True
            self._release(mine)

    def whole(self, data: bytes) -> Iterator[bytes]:
        """Yield the data, and hold it until it is consumed."""
        with self.hold(len(data)):
            yield data

    def chunks(self, data: bytes) -> Iterator[bytes]:
        """Yield the data in chunks, and hold it until all of them are consumed."""
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
    """Raise ClientTooSlow in the holder, unless it has finished meanwhile. Called by the event loop."""
    if not one.is_over:
        one.holder.throw(ClientTooSlow("Too slow for so large a message"))


class LargeRequestLimit:
    """Limits how many large requests are processed at a time, because a parsed body takes many times its size."""

    def __init__(self, memory: MemoryLimit) -> None:
        self._memory = memory
        self._free = BoundedSemaphore(MAX_LARGE_REQUESTS)

    @contextmanager
    def slot(self, size: int) -> Iterator[None]:
        """Wait for a slot, holding `size` bytes meanwhile, and keep it for the length of the block.

        Raises:
            TooManyWaiting: too many others wait.
        """
        if not is_cooperative():
            yield
            return
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
    """Limits the large bodies of waiting calls and streams, parts of which stay in memory."""

    def __init__(self) -> None:
        self._total = 0

    def hold(self, answering: ResponseGenerator, size: int) -> ResponseGenerator:
        """Return the generator, with `size` bytes held until it ends. Raises TooManyWaiting."""
        if size <= LARGE_BODY_BYTES or not is_cooperative():
            return answering  # limited by the number of calls, so that large bodies do not block small ones
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
