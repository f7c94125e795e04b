"""Waits for a task to come to rest."""

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
"""How often a wait looks up: whether the client is still allowed, and has to hear a sign of life."""

WAKE: Final[ContextVar[Callable[[], None] | None]] = ContextVar("WAKE", default=None)
"""Ends the wait of the request that is served, so that it looks up."""

SHUTDOWN_WAIT_S: Final = 15.0
"""How long calls wait on while their process ends; platforms kill after 30 seconds."""

REREAD_S: Final = 15.0
"""How long nothing is heard at least of a task that is waited for before it is read all the same."""

Progress = Generator[bytes | None, None, Result]
"""The progress of a call as JSON, None now and then for a pause, and at last its result. To be closed when nobody
wants the result any more, which cancels the call."""


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer that goes on for as long as its client listens."""

    messages: Generator[bytes | None, None, Result]
    """Messages, None now and then for a pause, and at last the result that ends the stream."""


class Shutdown:
    """When the waits of a process end because the process does."""

    at = float("inf")

    @classmethod
    def begin(cls) -> None:
        """Let every wait end soon. Its call is answered as at its limit."""
        cls.at = min(cls.at, time.monotonic() + SHUTDOWN_WAIT_S)


def until(
    is_reached: Callable[[Task], bool], task: Task, read: Callable[[], Task], watch: Watch, limit_s: float
) -> Generator[bytes | None, None, Task | None]:
    """The task once this is true of it; None when it is not within the limit.

    A store that is away is waited for: its absence is shorter than most jobs.
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
    """The task once it is terminal or wants input; None when it is neither within the limit."""
    return until(is_at_rest, task, read, watch, limit_s)


def is_at_rest(task: Task) -> bool:
    """Nothing will happen to the task before somebody gives an answer, if anything ever does."""
    return task.status.is_terminal or task.status is Status.INPUT_REQUIRED
