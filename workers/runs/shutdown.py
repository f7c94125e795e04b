"""How a worker that shuts down gets its runs back from the processes of its pool."""

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
"""How long a pool process waits to hear whether a SIGTERM was meant for its whole worker."""

SINCE: Final = struct.Struct("d")


class Drain:
    """Tells every process of a worker since when it shuts down, in memory that they share from the fork on.

    Nothing has to be started at that moment, in the middle of a signal handler: the time tells.
    """

    def __init__(self, grace_seconds: float) -> None:
        self._grace = grace_seconds
        self._shared = mmap.mmap(-1, SINCE.size)

    def begin(self) -> None:
        """The worker takes no more messages; after the grace its runs are handed back at their next checkpoint."""
        SINCE.pack_into(self._shared, 0, time.monotonic())

    @property
    def has_begun(self) -> bool:
        """True once the worker shuts down in good order."""
        return self._since > 0

    @property
    def is_draining(self) -> bool:
        """True once the worker wants its runs back."""
        return 0 < self._since < time.monotonic() - self._grace

    @property
    def _since(self) -> float:
        since: float = SINCE.unpack_from(self._shared, 0)[0]
        return since


class SigtermHeeded:
    """What a SIGTERM means to a process of a pool.

    Platforms send it to every process there is, and then the main process alone decides what becomes of the runs. But
    the main process itself, or an operator through it, ends one process by the same signal. So the process waits for a
    moment, and ends only if its worker does not shut down. It does not end by an exception in the middle of a tool's
    function, which would take that for a fault of the tool.
    """

    def __init__(self, drain: Drain) -> None:
        self._drain = drain
        self._heeds = os.getpid()  # the main process has its own way

    def heed(self, **_: Any) -> None:
        """From its first Celery task on a pool process heeds the signal in this way; Celery sets a handler before."""
        if self._heeds != os.getpid():
            self._heeds = os.getpid()
            signal.signal(signal.SIGTERM, self._on_sigterm)

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """Heed the signal in this way for the length of the block, in a process of a pool."""
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
