"""Limit concurrent waiting calls and streams in one process, in total and for each owner."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from coatcheck.tasks_store import Owner
from coatcheck.web.errors import LimitReached, WebError

CONCURRENCY_RETRY_S: Final = 10
"""Seconds after which a client can try again; until then it polls."""


class ConcurrencyLimit:
    """Counts concurrent requests, and refuses one that exceeds the limit."""

    def __init__(self, name: str, most: int, most_of_one: int, full: Callable[[], WebError]) -> None:
        """`most_of_one` 0 is no limit for one owner; `full` creates the error of a full process."""
        self._name = name
        self.most = most
        self._most_of_one = most_of_one
        self._full = full
        self._taken: Counter[Owner] = Counter()
        self._lock = threading.Lock()

    @property
    def taken(self) -> int:
        """The number of slots in use."""
        with self._lock:
            return self._taken.total()

    @contextmanager
    def slot(self, owner: Owner) -> Iterator[None]:
        """Hold a slot for the length of the block.

        Raises:
            WebError: the process has no free slot; the error is that of `full`.
            LimitReached: the owner has no free slot.
        """
        with self._lock:
            if self._taken.total() >= self.most:
                raise self._full()
            if self._most_of_one and self._taken[owner] >= self._most_of_one:
                raise LimitReached(
                    self._name, f"You have as many {self._name} as you may; end one, or poll", CONCURRENCY_RETRY_S
                )
            self._taken[owner] += 1
        try:
            yield
        finally:
            with self._lock:
                self._taken[owner] -= 1
                if not self._taken[owner]:
                    del self._taken[owner]
