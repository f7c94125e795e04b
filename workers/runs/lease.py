"""Renew the leases of the runs in this process, and stop runs that must end."""

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

HARD_LIMIT_GRACE_SECONDS = 10
"""Seconds between the exception for the time limit and the kill, or the end of the right to write."""

RENEWALS_PER_LEASE = 5
"""Renewals within the length of a lease. A cancel reaches the run with the next renewal at the latest."""

POLL_SECONDS = 0.5
"""Seconds between two checks for leases that are due."""

AWAY_SECONDS = 0.5
"""Seconds before a write is repeated while the store is unavailable."""


class Lease:
    """A run's right to write."""

    def __init__(self, claim: Claim, drain: Drain, limit_s: float = inf) -> None:
        """`limit_s` is the time limit of the run, in a pool that cannot stop it."""
        self.task_id = claim.task_id
        self.run_id = claim.run_id
        self.facts: Facts = {"task_id": claim.task_id, "tool": claim.tool, "run": claim.run_number}
        self.is_superseded = False
        self.is_cancelled = False
        self._drain = drain
        self._soft_at = time.monotonic() + limit_s
        self.hard_at = self._soft_at + HARD_LIMIT_GRACE_SECONDS

    def heard(self, cancel_requested: bool) -> None:
        """Note the store's reply to the last write or renewal."""
        self.is_cancelled = self.is_cancelled or cancel_requested

    def check(self) -> None:
        """Raise an exception if the run must end.

        Raises:
            Superseded: another run owns the task.
            Cancelled: the task was cancelled.
            HandedBack: the worker shuts down.
            SoftTimeLimitExceeded: the time limit has passed. Raised once, as by the signal in a pool of processes.
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
        """Write and return the store's reply, waiting for as long as the store is unavailable.

        No other run can claim the task meanwhile, and the work of the run is worth more than its place in the pool.
        The author's code never gets errors of the store, so it cannot catch them.

        Raises:
            Superseded: another run owns the task; the write was refused.
            HandedBack: the worker shuts down before the store is available.
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
    """Renews all leases of this process in one thread, which also runs while a tool computes.

    A run that ends before its first renewal costs nothing. The thread starts with the first lease in a process, so the
    keeper can be created before a fork.
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
        """Renew the lease for the length of the block. The run ends at its next checkpoint after `limit_s`.

        If it does not, its task is failed HARD_LIMIT_GRACE_SECONDS later, and its writes are refused.
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
        """Fail the task, so that later writes of the run are refused."""
        try:
            self._store.finish(
                lease.task_id,
                lease.run_id,
                Status.FAILED,
                message=TIME_LIMIT,
                error=TaskError(INTERNAL_ERROR, TIME_LIMIT),
            )
        except RunSuperseded:
            pass  # the run has ended, or another one holds the lease
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
            # Not superseded: no other run can claim the task while the store is unavailable. Repeat soon.
            logger.warning("lease of task %s not renewed: %s", lease.task_id, fault)
            return
        with self._lock:
            if lease in self._due.get():
                self._due.get()[lease] = time.monotonic() + self._every
