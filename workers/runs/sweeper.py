"""Make the transitions that time calls for. Every worker has a sweeper, and one of them works at a time."""

import logging
import threading
import time
from collections.abc import Callable

from coatcheck.tasks_store import DueKind, NextRun, StoreUnavailable, TaskStore, unfitness
from coatcheck.tasks_store.model import BUCKETS
from coatcheck.workers.messages.dispatcher import Dispatcher
from coatcheck.workers.runs.lease import RENEWALS_PER_LEASE
from coatcheck.workers.telemetry.logs import about
from coatcheck.workers.telemetry.metrics import TRANSITIONS, Measures
from coatcheck.workers.toolkit.errors import BrokerUnavailable

logger = logging.getLogger(__name__)

BEAT_SECONDS = 2.0
"""The longest pause between two heartbeats of a worker. With short leases it is that between two renewals."""

RETRY_SECONDS = 0.5
"""Seconds before a worker that accepts no messages is checked again."""

LOOK_SECONDS = 60.0
"""Seconds between two checks of the Redis server, which can be replaced after the start."""

BATCH = 100
"""Due tasks that are read from a bucket at a time."""

BATCHES = 50
"""Batches of a bucket in one sweep, so that a sweep ends. The rest is left to the next one."""


class Sweeper:
    """Expires, recovers, resends, lapses and purges tasks, and sends the heartbeat of this worker."""

    def __init__(
        self,
        store: TaskStore,
        worker: str,
        dispatcher: Dispatcher,
        measures: Measures,
        takes_messages: Callable[[], bool] = lambda: True,
    ) -> None:
        """`takes_messages` tells whether this worker's consumer accepts messages."""
        self._store = store
        self._takes_messages = takes_messages
        self._worker = worker
        self._dispatcher = dispatcher
        self._measures = measures
        self._broker_answers: bool | None = None
        self._look_at = 0.0
        self._known_faults: set[str] = set()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="coatcheck-sweeper", daemon=True)

    def start(self) -> None:
        """Start the sweeper's thread, which runs until it is stopped."""
        self._thread.start()

    def stop(self) -> None:
        """Tell the thread to end after the current sweep."""
        self._stopping.set()

    def sweep(self) -> int:
        """Make all transitions that are due, up to a bound, and return their number.

        The heartbeat is also sent between batches, so that a long sweep does not look like an outage.
        """
        done = 0
        self._broker_answers = None
        for bucket in range(BUCKETS):
            kept = 0  # tasks that are still due after their turn, and so come first in the index
            for _ in range(BATCHES):
                held = self._beat()
                due = self._store.maintenance.due(bucket, BATCH, kept)
                moved = sum(self._settle_one(task_id, held=held) for task_id in due)
                done += moved
                kept += len(due) - moved
                if len(due) < BATCH:
                    break
        return done

    def look(self) -> None:
        """Check whether the server could lose tasks, and log each new fault once."""
        if time.monotonic() < self._look_at:
            return
        self._look_at = time.monotonic() + LOOK_SECONDS
        faults = unfitness(self._store.settings).faults
        for fault in sorted(faults - self._known_faults):
            logger.error("%s", fault)
        self._known_faults = faults

    def _beat(self) -> bool:
        return self._store.maintenance.beat(self._worker, takes_messages=self._takes_messages())

    def _settle_one(self, task_id: str, *, held: bool) -> bool:
        with about(task_id=task_id):
            try:
                return self._settle(task_id, held=held)
            except StoreUnavailable:
                raise
            except Exception:
                logger.exception("task %s could not be swept; the others are", task_id)
                return False

    def _settle(self, task_id: str, *, held: bool) -> bool:
        """Make the transition that is due for this task. Return whether it changed something."""
        kind, remains = self._store.maintenance.inspect(task_id)
        following = None
        match kind:
            case DueKind.EXPIRE:
                self._store.maintenance.expire(task_id)
            case DueKind.RECOVER:
                following = self._store.maintenance.recover(task_id, held=held)
                if held and following is None:
                    return False
            case DueKind.RESEND if not self._can_send():
                return False
            case DueKind.RESEND:
                following = self._store.maintenance.resend(task_id)
            case DueKind.LAPSE:
                following = self._store.maintenance.lapse(task_id)
            case DueKind.PURGE:
                assert remains is not None
                self._store.maintenance.purge(task_id, remains)
        if kind not in (DueKind.NOTHING, DueKind.PURGE):
            logger.info("task %s: %s", task_id, kind)
            self._measures.count(TRANSITIONS, kind)
        if following is not None and self._can_send():
            self._send(following)
        return True

    def _send(self, run: NextRun) -> None:
        """Send the message of a run. If the broker does not accept it, it stays due, and a later sweep sends it."""
        try:
            self._dispatcher.send_run(run)
        except BrokerUnavailable as fault:
            logger.warning("no messages are sent for now: %s", fault)
            self._broker_answers = False

    def _can_send(self) -> bool:
        """Return whether the broker responds, which is checked once in a sweep."""
        if self._broker_answers is None:
            try:
                self._dispatcher.check()
                self._broker_answers = True
            except BrokerUnavailable as fault:
                logger.warning("no messages are sent for now: %s", fault)
                self._broker_answers = False
        return self._broker_answers

    def _run(self) -> None:
        settings = self._store.settings
        sweep_in = 0.0
        pause = min(BEAT_SECONDS, settings.sweep_ms / 1000, settings.lease_ms / 1000 / RENEWALS_PER_LEASE)
        while not self._stopping.is_set():
            try:
                self._beat()
                sweep_in -= pause
                if sweep_in <= 0:
                    sweep_in = settings.sweep_ms / 1000
                    if self._store.maintenance.lead(self._worker):
                        self.look()
                        self.sweep()
            except StoreUnavailable as fault:
                logger.warning("the sweep stops for now: %s", fault)
            except Exception:
                logger.exception("the sweep failed; it goes on with the next")
            self._stopping.wait(pause if self._takes_messages() else min(pause, RETRY_SECONDS))
