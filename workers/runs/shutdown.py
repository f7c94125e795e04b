"""Release the runs of a worker that shuts down, and handle SIGTERM in its pool processes."""

import mmap
import os
import signal
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

MOMENT_SECONDS = 1.0
"""Seconds that a pool process waits to learn whether a SIGTERM is for the whole worker."""

SINCE: Final = struct.Struct("d")


class Drain:
    """Shares the start of the shutdown with all processes of a worker, in shared memory.

    A time is enough, so the signal handler does not have to start anything.
    """

    def __init__(self, grace_seconds: float) -> None:
        self._grace = grace_seconds
        self._shared = mmap.mmap(-1, SINCE.size)

    def begin(self) -> None:
        """Note that the shutdown begins. After the grace period, runs are released at their next checkpoint."""
        SINCE.pack_into(self._shared, 0, time.monotonic())

    @property
    def has_begun(self) -> bool:
        """Whether a warm shutdown has begun."""
        return self._since > 0

    @property
    def is_draining(self) -> bool:
        """Whether the grace period has passed, so that runs must be released."""
        return 0 < self._since < time.monotonic() - self._grace

    @property
    def _since(self) -> float:
        since: float = SINCE.unpack_from(self._shared, 0)[0]
        return since


class SigtermHeeded:
    """Handles SIGTERM in the processes of a pool.

    Platforms send SIGTERM to all processes of a worker, and then the main process alone decides about the runs. But the
    main process, or an operator through it, uses the same signal to end a single process. So the process waits for a
    moment, and ends only if its worker does not shut down. It is killed, because an exception in the middle of a tool's
    function would count as a fault of the tool.
    """

    def __init__(self, drain: Drain) -> None:
        self._drain = drain
        self._heeds = os.getpid()  # the main process keeps Celery's handler

    def heed(self, **_: Any) -> None:
        """Install the handler before the first Celery task of a pool process, after Celery has installed its own."""
        if self._heeds != os.getpid():
            self._heeds = os.getpid()
            signal.signal(signal.SIGTERM, self._on_sigterm)

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Install the handler for the length of the block, in a process of a pool."""
        if self._heeds == os.getpid():
            yield
            return
        before = signal.signal(signal.SIGTERM, self._on_sigterm)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, before)

    def _on_sigterm(self, *_: Any) -> None:
        decision = threading.Timer(MOMENT_SECONDS, self._decide)
        decision.daemon = True
        decision.start()

    def _decide(self) -> None:
        if not self._drain.has_begun:
            os.kill(os.getpid(), signal.SIGKILL)
