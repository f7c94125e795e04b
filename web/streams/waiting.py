"""Wait for a change of a task."""

import random
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from coatcheck.tasks_store import Status, StoreUnavailable, Task, Watch
from coatcheck.web.protocol.serialization import Result

WAIT_INTERVAL_S: Final = 2.0
"""Seconds between two wake-ups of a wait, which check that the caller is still valid and keep the stream alive."""

WAKE: Final[ContextVar[Callable[[], None] | None]] = ContextVar("WAKE", default=None)
"""Ends the current wait of the request."""

SHUTDOWN_WAIT_S: Final = 15.0
"""Seconds that calls still wait after a shutdown has begun; platforms kill after 30."""

REREAD_S: Final = 15.0
"""Seconds without an event after which a waited-for task is read again."""

Progress = Generator[bytes | None, None, Result]
"""Yields the progress of a call as JSON and None for a pause, and returns the result. Close it to cancel the call."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A response that lasts as long as its client listens."""

    messages: Generator[bytes | None, None, Result]
    """Yields messages and None for a pause, and returns the result that ends the stream."""


class Shutdown:
    """The time at which the waits of a process end during shutdown."""

    at = float("inf")

    @classmethod
    def begin(cls) -> None:
        """Let every wait end soon, as at its time limit."""
        cls.at = min(cls.at, time.monotonic() + SHUTDOWN_WAIT_S)


def until(
    is_reached: Callable[[Task], bool], task: Task, read: Callable[[], Task], watch: Watch, limit_s: float
) -> Generator[bytes | None, None, Task | None]:
    """Wait until the predicate holds for the task, and return the task; None when the time limit passes first.

    An unavailable store is tolerated: most outages are shorter than the wait.
    """
    began = time.monotonic()
    deadline = began + limit_s
    read_at = began + REREAD_S * (1 + random.random())  # noqa: S311 - so that calls which came together do not read together
    WAKE.set(watch.wake)
    if not is_reached(task):
        yield None  # the wait has begun
    while not is_reached(task):
        left = min(deadline, Shutdown.at) - time.monotonic()
        if left <= 0:
            return None
        events = watch.wait(min(WAIT_INTERVAL_S, left))
        for event in events:
            if event.progress is not None:
                yield event.progress
        if not events:
            yield None
        now = time.monotonic()
        if any(event.progress is None for event in events) or now > read_at:
            read_at = now + REREAD_S
            with suppress(StoreUnavailable):
                task = read()
    return task


def until_at_rest(
    task: Task, read: Callable[[], Task], watch: Watch, limit_s: float
) -> Generator[bytes | None, None, Task | None]:
    """Wait until the task is terminal or needs input; None when the time limit passes first."""
    return until(is_at_rest, task, read, watch, limit_s)


def is_at_rest(task: Task) -> bool:
    """Tell whether the task is terminal or waits for input."""
    return task.status.is_terminal or task.status is Status.INPUT_REQUIRED
