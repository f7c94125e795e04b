"""Keeps the leases of the runs in this process alive, and brings back what the store and the worker have to say."""

import logging
import mmap
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tasks_store import Claim, RunSuperseded, StoreUnavailable, TaskStore
from workers.errors import Cancelled, HandedBack, Superseded

logger = logging.getLogger(__name__)

RENEWALS_PER_LEASE = 5
"""How often a lease is renewed before it would end; a cancel is heard of at the latest with the next renewal."""

POLL_SECONDS = 0.5
"""How often the keeper looks whether a lease is due."""


class Drain:
    """Tells every process of a worker that it shuts down, by one byte that pool processes inherit at the fork."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 1)

    def start(self) -> None:
        """Every run of this worker is handed back at its next checkpoint."""
        self._shared[0] = 1

    @property
    def is_draining(self) -> bool:
        """True once the worker wants its runs back."""
        return self._shared[0] == 1


class Lease:
    """A run's right to write."""

    def __init__(self, claim: Claim, drain: Drain) -> None:
        self.task_id = claim.task_id
        self.run_id = claim.run_id
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

    @contextmanager
    def keep(self, claim: Claim) -> Iterator[Lease]:
        """The lease is renewed for as long as the block runs."""
        lease = Lease(claim, self._drain)
        with self._lock:
            if self._pid != os.getpid():
                self._pid, self._due = os.getpid(), {}
                threading.Thread(target=self._run, name="coatcheck-leases", daemon=True).start()
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
