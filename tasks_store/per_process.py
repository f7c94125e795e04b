"""What every process has of its own, also one that is forked later."""

import os
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PerProcess(Generic[T]):
    """One value for each process, made at its first use there, so after every fork.

    The parent's would not do: a lock that another thread of the parent held at the fork is never released in the child,
    and processes that share a connection read each other's replies. Of two concurrent first uses each makes a value;
    one is kept, so making one must not cost more than memory.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._by_pid: dict[int, T] = {}

    def get(self) -> T:
        """Return this process's value."""
        pid = os.getpid()
        if pid not in self._by_pid:
            self._by_pid.setdefault(pid, self._make())
        return self._by_pid[pid]

    def made(self) -> T | None:
        """Return this process's value, or None if it was not used yet."""
        return self._by_pid.get(os.getpid())

    def pop(self) -> T | None:
        """Return this process's value, if it was used, and forget it: the next use makes another."""
        return self._by_pid.pop(os.getpid(), None)
