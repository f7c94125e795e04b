"""Keeps the leases of the runs in this process alive, and brings back what the store and the worker have to say."""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from tasks_store import Claim, RunSuperseded, StoreUnavailable, TaskStore
from workers.drain import Drain
from workers.errors import Cancelled, HandedBack, Superseded
from workers.logs import Facts, about

logger = logging.getLogger(__name__)

T = TypeVar("T")

RENEWALS_PER_LEASE = 5
"""How often a lease is renewed before it would end; a cancel is heard of at the latest with the next renewal."""

POLL_SECONDS = 0.5
"""How often the keeper looks whether a lease is due."""

AWAY_SECONDS = 0.5
"""The pause before a write is tried again while the store is away."""


class Lease:
    """A run's right to write."""

    def __init__(self, claim: Claim, drain: Drain) -> None:
        self.task_id = claim.task_id
        self.run_id = claim.run_id
        self.facts: Facts = {"task_id": claim.task_id, "tool": claim.tool, "run": claim.run_number}
        self.is_superseded = False
        self.is_cancelled = False
        self._drain = drain

    def heard(self, cancel_requested: bool) -> None:
        """What the store said with the last write or renewal is known."""
        self.is_cancelled = self.is_cancelled or cancel_requested

    def check(self) -> None:
        """The run may go on.

        Raises:
            Superseded: another run owns the task.
            Cancelled: somebody asked for the end of the task.
            HandedBack: the worker shuts down.
        """
        if self.is_superseded:
            raise Superseded
        if self.is_cancelled:
            raise Cancelled
        if self._drain.is_draining:
            raise HandedBack

    def write(self, write: Callable[[], T]) -> T:
        """What a write of this run answered, however long the store was away before.

        Nobody can take the task over while the store is away, and what the run has done is worth more than its place in
        the pool. An author's code never sees the store's errors, so it cannot swallow them.

        Raises:
            Superseded: another run owns the task; the write was refused.
            HandedBack: the worker shuts down before the store is back.
        """
        while True:
            try:
                return write()
            except RunSuperseded:
                self.is_superseded = True
                raise Superseded from None
            except StoreUnavailable as fault:
                if self._drain.is_draining:
                    raise HandedBack from fault
                logger.warning("task %s: a write waits for the store: %s", self.task_id, fault)
                time.sleep(AWAY_SECONDS)


class LeaseKeeper:
    """Renews all leases of this process from one thread, which also works while a tool computes.

    A run that ends before its first renewal is due costs nothing. The thread is made with the first lease in a process,
    so it is safe to make the keeper before a fork.
    """

    def __init__(self, store: TaskStore, drain: Drain) -> None:
        self._store = store
        self._drain = drain
        self._every = store.settings.lease_ms / 1000 / RENEWALS_PER_LEASE
        self._lock = threading.Lock()
        self._due: dict[Lease, float] = {}
        self._pid = 0
        self._thread = threading.Thread()

    @contextmanager
    def keep(self, claim: Claim) -> Iterator[Lease]:
        """The lease is renewed for as long as the block runs."""
        lease = Lease(claim, self._drain)
        with self._lock:
            if self._pid != os.getpid():
                self._pid, self._due = os.getpid(), {}
            if not self._thread.is_alive():  # the first lease of a process, since threads do not cross a fork
                self._thread = threading.Thread(target=self._run, name="coatcheck-leases", daemon=True)
                self._thread.start()
            self._due[lease] = time.monotonic() + self._every
        try:
            yield lease
        finally:
            with self._lock:
                self._due.pop(lease, None)

    def _run(self) -> None:
        pause = min(POLL_SECONDS, self._every / 2)
        while True:
            time.sleep(pause)
            now = time.monotonic()
            with self._lock:
                due = [lease for lease, at in self._due.items() if at <= now]
            for lease in due:
                with about(**lease.facts):
                    self._renew(lease)

    def _renew(self, lease: Lease) -> None:
        try:
            lease.heard(self._store.renew(lease.task_id, lease.run_id))
        except RunSuperseded:
            lease.is_superseded = True
        except StoreUnavailable as fault:
            # Not superseded: while the store is away nobody else can claim the task. Tried again at once.
            logger.warning("lease of task %s not renewed: %s", lease.task_id, fault)
            return
        with self._lock:
            if lease in self._due:
                self._due[lease] = time.monotonic() + self._every
