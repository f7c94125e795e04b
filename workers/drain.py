"""How a worker that shuts down gets its runs back from the processes of its pool."""

import mmap
import os
import signal
import threading
from typing import Any

MOMENT_SECONDS = 1.0
"""How long a pool process waits to hear whether a SIGTERM was meant for its whole worker."""

WORKING, STOPPING, DRAINING = 0, 1, 2


class Drain:
    """Tells every process of a worker how far it is with shutting down, by one byte that they inherit at the fork."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 1)

    def stop(self) -> None:
        """No more messages are taken; what runs may go on for a while."""
        self._shared[0] = STOPPING

    def start(self) -> None:
        """Every run of this worker is handed back at its next checkpoint."""
        self._shared[0] = DRAINING

    @property
    def is_stopping(self) -> bool:
        """True once the worker shuts down in good order."""
        return self._shared[0] != WORKING

    @property
    def is_draining(self) -> bool:
        """True once the worker wants its runs back."""
        return self._shared[0] == DRAINING


class SigtermHeeded:
    """What a SIGTERM means to a process of a pool.

    Platforms send it to every process there is, and then the main process alone decides what becomes of the runs. But
    the main process itself, or an operator through it, ends one process by the same signal. So the process waits for a
    moment, and ends only if its worker does not shut down. It does not end by an exception in the middle of a tool's
    function, which would take that for a fault of the tool.
    """

    def __init__(self, drain: Drain) -> None:
        self._drain = drain
        self._pool_process = 0

    def born(self, **_: Any) -> None:
        """This process belongs to a pool. Celery sets its own handler after this."""
        self._pool_process = os.getpid()

    def begin(self, **_: Any) -> None:
        """From the first Celery task on a pool process heeds the signal in this way."""
        if self._pool_process == os.getpid():
            self._pool_process = 0
            signal.signal(signal.SIGTERM, self._on_sigterm)

    def _on_sigterm(self, *_: Any) -> None:
        decision = threading.Timer(MOMENT_SECONDS, self._decide)
        decision.daemon = True
        decision.start()

    def _decide(self) -> None:
        if not self._drain.is_stopping:
            os.kill(os.getpid(), signal.SIGKILL)
