"""How many streams one process holds open, and how many of them for one owner."""

import threading
from collections import Counter
from typing import Final

from tasks_store import Owner
from web.errors import LimitReached, TooManyStreams

RETRY_S: Final = 10
"""After how many seconds a client may try again; until then it polls."""


class Seats:
    """Counts streams. Who finds no seat is told at once."""

    def __init__(self, most: int, most_of_one: int) -> None:
        """`most_of_one` 0 means that one owner may have them all."""
        self._most = most
        self._most_of_one = most_of_one or most
        self._taken: Counter[Owner] = Counter()
        self._lock = threading.Lock()

    @property
    def taken(self) -> int:
        """How many streams there are."""
        with self._lock:
            return self._taken.total()

    def take(self, owner: Owner) -> None:
        """The owner has one more stream.

        Raises:
            TooManyStreams: the process has as many as it may.
            LimitReached: the owner has.
        """
        with self._lock:
            if self._taken.total() >= self._most:
                raise TooManyStreams("This process holds as many streams as it may; poll, or try again later")
            if self._taken[owner] >= self._most_of_one:
                raise LimitReached("streams", "You have as many streams as you may; close one, or poll", RETRY_S)
            self._taken[owner] += 1

    def give_back(self, owner: Owner) -> None:
        """The owner has one stream less."""
        with self._lock:
            self._taken[owner] -= 1
            if not self._taken[owner]:
                del self._taken[owner]
