"""Until when an answer is waited for."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import anyio


class DeadlinePassed(Exception):
    """What was awaited has not come in time, and was given up."""


class Deadline:
    """A moment, `seconds` from now; with None it never comes."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds or 0.0
        self._at = None if seconds is None else time.monotonic() + seconds

    @property
    def left_s(self) -> float | None:
        """How long it is until then; None for ever."""
        return None if self._at is None else max(0.0, self._at - time.monotonic())

    @contextmanager
    def limit(self) -> Iterator[None]:
        """What is awaited inside ends by then. Raises DeadlinePassed."""
        with anyio.move_on_after(self.left_s) as scope:
            yield
        if scope.cancelled_caught:
            raise DeadlinePassed
