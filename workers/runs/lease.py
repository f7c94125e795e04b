"""Keeps the leases of the runs in this process alive, and brings back what the store and the worker have to say."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from typing import TypeVar

from billiard.exceptions import SoftTimeLimitExceeded

from coatcheck.tasks_store import INTERNAL_ERROR, Claim, RunSuperseded, Status, StoreUnavailable, TaskError, TaskStore
from coatcheck.tasks_store.per_process import PerProcess
from coatcheck.workers.runs.shutdown import Drain
from coatcheck.workers.telemetry.logs import Facts, about
from coatcheck.workers.toolkit.errors import Cancelled, HandedBack, Superseded
from coatcheck.workers.toolkit.outcome import TIME_LIMIT

logger = logging.getLogger(__name__)

T = TypeVar("T")
"""What the client hears when a run was stopped, or killed, at the tool's time limit."""

HARD_LIMIT_GRACE_SECONDS = 10
"""How long a run may go on after its time limit was raised in it, before it is killed or fenced off."""

RENEWALS_PER_LEASE = 5
"""How often a lease is renewed before it would end; a cancel is heard of at the latest with the next renewal."""

POLL_SECONDS = 0.5
"""How often the keeper looks whether a lease is due."""

AWAY_SECONDS = 0.5
"""The pause before a write is tried again while the store is away."""


class Lease:
    """A run's right to write."""

    def __init__(self, claim: Claim, drain: Drain, limit_s: float = inf) -> None:
        """`limit_s`: how long the run may go on, where nobody else stops it."""
        self.task_id = claim.task_id
        self.run_id = claim.run_id
        self.facts: Facts = {"task_id": claim.task_id, "tool": claim.tool, "run": claim.run_number}
        self.is_superseded = False
        self.is_cancelled = False
        self._drain = drain
        self._soft_at = time.monotonic() + limit_s
        self.hard_at = self._soft_at + HARD_LIMIT_GRACE_SECONDS

    def heard(self, cancel_requested: bool) -> None:
        """What the store said with the last write or renewal is known."""
        self.is_cancelled = self.is_cancelled or cancel_requested

    def check(self) -> None:
        """The run may go on.

        Raises:
            Superseded: another run owns the task.
            Cancelled: somebody asked for the end of the task.
            HandedBack: the worker shuts down.
            SoftTimeLimitExceeded: the time limit has passed; once, as a signal would say it.
        """
        if self.is_superseded:
            raise Superseded
        if time.monotonic() >= self._soft_at:
            self._soft_at = inf
            raise SoftTimeLimitExceeded
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
        self._due = PerProcess[dict[Lease, float]](dict)
        self._thread = threading.Thread()

    @contextmanager
    def keep(self, claim: Claim, limit_s: float = inf) -> Iterator[Lease]:
        """The lease is renewed for as long as the block runs, which ends at its next checkpoint after `limit_s`.

        A run that goes on nevertheless is fenced off a while later, and its task failed.
        """
        lease = Lease(claim, self._drain, limit_s)
        with self._lock:
            if not self._thread.is_alive():  # the first lease of a process, since threads do not cross a fork
                self._thread = threading.Thread(target=self._run, name="coatcheck-leases", daemon=True)
                self._thread.start()
            self._due.get()[lease] = time.monotonic() + self._every
        try:
            yield lease
        finally:
            with self._lock:
                self._due.get().pop(lease, None)

    def _run(self) -> None:
        pause = min(POLL_SECONDS, self._every / 2)
        while True:
            time.sleep(pause)
            now = time.monotonic()
            with self._lock:
                leases = self._due.get()
                due = [lease for lease, at in leases.items() if at <= now]
                overdue = [lease for lease in leases if lease.hard_at <= now]
            for lease in due:
                with about(**lease.facts):
                    self._renew(lease)
            for lease in overdue:
                with about(**lease.facts):
                    self._fence_off(lease)

    def _fence_off(self, lease: Lease) -> None:
        """The task is failed; whatever the run still does counts for nothing."""
        try:
            self._store.finish(
                lease.task_id,
                lease.run_id,
                Status.FAILED,
                message=TIME_LIMIT,
                error=TaskError(INTERNAL_ERROR, TIME_LIMIT),
            )
        except RunSuperseded:
            pass  # it has ended, or another one has taken over
        except StoreUnavailable as fault:
            logger.warning("task %s is past its time limit, which could not be noted yet: %s", lease.task_id, fault)
            return
        else:
            logger.error("task %s ran on after its time limit; it cannot be killed in this pool", lease.task_id)
        lease.is_superseded = True
        lease.hard_at = inf

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
            if lease in self._due.get():
                self._due.get()[lease] = time.monotonic() + self._every
