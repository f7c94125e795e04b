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
from coatcheck.web.protocol.response import Answering
from coatcheck.web.server.threads import LARGE

MOST: Final = 24 * 1024 * 1024
"""Bytes of large bodies and answers that one process holds before it gives up slow clients."""

MOST_AT_ONCE: Final = 40 * 1024 * 1024
"""The same, however quick the clients are."""

PATIENCE_S: Final = 1.0
"""How long a client can hold its part whatever others want."""

PIECE: Final = 64 * 1024
"""Bytes that are read of a body, and handed to the server of a stream, at a time."""

MOST_WAITING: Final = 8 * 1024 * 1024
"""Bytes of the bodies of calls that wait and of streams. What is made of a body has many times its size."""


MOST_LARGE: Final = 4
"""Requests with large bodies that are worked on at a time, up to their answer or their wait for one."""


class TooSlow(TimeoutError):
    """The client held its memory for longer than anybody else when there was no more."""


class Held:
    """What one greenlet holds."""

    def __init__(self, holder: greenlet) -> None:
        self.holder = holder
        self.since = time.monotonic()
        self.size = 0
        self.is_over = False


class InFlight:
    """Bounds what all clients of a process hold.

    When it is too much, the client that has held its part longest is cut off: one that reads or sends at an ordinary
    speed is done before.
    """

    def __init__(self) -> None:
        self._held: dict[Held, None] = {}
        """The oldest first."""
        self._total = 0

    @contextmanager
    def hold(self, size: int = 0) -> Iterator[Callable[[int], None]]:
        """Hold so many bytes for the length of the block, in which TooSlow can be raised at any wait.

        The block can hold more of them by what it is given.
        """
        mine = Held(gevent.getcurrent())
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

    def pieces(self, data: bytes) -> Iterator[bytes]:
        """Yield the data in pieces, and hold it until all of them are taken."""
        if len(data) <= PIECE:
            yield data
            return
        with self.hold(len(data)):
            for start in range(0, len(data), PIECE):
                yield data[start : start + PIECE]

    def _grow(self, mine: Held, size: int) -> None:
        if mine not in self._held:
            return  # given up, and about to hear of it
        mine.size += size
        self._total += size
        while self._total > MOST:
            oldest = next(iter(self._held))
            is_slow = time.monotonic() - oldest.since > PATIENCE_S
            if oldest is mine or (self._total <= MOST_AT_ONCE and not is_slow):
                break
            self._release(oldest)
            gevent.get_hub().loop.run_callback(_cut, oldest)

    def _release(self, one: Held) -> None:
        if one in self._held:
            del self._held[one]
            self._total -= one.size


def _cut(one: Held) -> None:
    """Raise TooSlow where the holder waits, unless it is done meanwhile. Called by the loop."""
    if not one.is_over:
        one.holder.throw(TooSlow("Too slow for so large a message"))


class Turns:
    """Lets a few large requests be worked on at a time: what is made of a body has many times its size."""

    def __init__(self, in_flight: InFlight) -> None:
        self._in_flight = in_flight
        self._free = BoundedSemaphore(MOST_LARGE)

    @contextmanager
    def turn(self, size: int) -> Iterator[None]:
        """Wait for a turn, holding so many bytes meanwhile, and have it for the length of the block.

        Raises:
            TooManyWaiting: too many others wait.
        """
        try:
            with self._in_flight.hold(size):
                self._free.acquire()
        except TooSlow as fault:
            raise TooManyWaiting("Too many large requests have come together; try again") from fault
        try:
            yield
        finally:
            self._free.release()


class WaitingBodies:
    """Bounds the large bodies of calls that wait and of streams: parts of them are in memory for as long."""

    def __init__(self) -> None:
        self._total = 0

    def held(self, answering: Answering, size: int) -> Answering:
        """Return the wait, which holds so many bytes until it ends. Raises TooManyWaiting."""
        if size <= LARGE:
            return answering  # bounded by the number of calls; who has large ones shuts out nobody with a small one
        if self._total + size > MOST_WAITING:
            raise TooManyWaiting("Too many calls with large arguments are waiting; try again, or use tasks")
        self._total += size
        counted = self._counted(answering, size)
        next(counted)  # begun, so that whatever ends it reaches its end
        return counted

    def _counted(self, answering: Answering, size: int) -> Answering:
        try:
            yield None
            return (yield from answering)
        finally:
            self._total -= size
