"""The clock's side of the work, inside every worker, one worker at a time."""

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
"""How often a worker says that it lives, at the least. With short leases it does as often as it renews one."""

RETRY_SECONDS = 0.5
"""How soon a worker that takes no messages is asked again whether it does."""

LOOK_SECONDS = 60.0
"""How often the server is asked whether it is still fit to keep tasks: it may be another one than at the start."""

BATCH = 100
"""How many due tasks are read from a bucket at a time."""

BATCHES = 50
"""How many batches one sweep takes from a bucket, so that it ends; the rest waits for the next."""


class Sweeper:
    """Expires, recovers, sends again, lapses and purges; and says that this worker lives."""

    def __init__(
        self,
        store: TaskStore,
        worker: str,
        dispatcher: Dispatcher,
        measures: Measures,
        takes_messages: Callable[[], bool] = lambda: True,
    ) -> None:
        """`takes_messages` tells whether the worker beside it does what a worker is for."""
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
        """The sweeper works in a thread of its own until it is stopped."""
        self._thread.start()

    def stop(self) -> None:
        """The thread ends soon; a sweep that is going on is finished."""
        self._stopping.set()

    def sweep(self) -> int:
        """Everything that the clock called for was done, up to a bound; how many transitions that took.

        The worker says that it lives between batches too: a long sweep must not look like an outage.
        """
        done = 0
        self._broker_answers = None
        for bucket in range(BUCKETS):
            kept = 0  # held back, so still due, and in front of those that come after
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
        """Everything by which the server could lose tasks has been told to the log, once as long as it lasts."""
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
        """The one thing that is due to this task was done; True when it changed something."""
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
        """Send the message of a run; what the broker does not take now stays due and is sent by a later sweep."""
        try:
            self._dispatcher.send_run(run)
        except BrokerUnavailable as fault:
            logger.warning("no messages are sent for now: %s", fault)
            self._broker_answers = False

    def _can_send(self) -> bool:
        """Whether the broker answers; asked once in a sweep. A message that could not be sent stays due."""
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
