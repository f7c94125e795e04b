"""Update the record at once when the process of a run is killed, from the worker's main process."""

import logging
import threading
from collections.abc import Callable
from typing import Any

from billiard.einfo import ExceptionInfo
from billiard.exceptions import Terminated, WorkerLostError
from celery.worker.request import Request
from celery.worker.state import revoked

from coatcheck.tasks_store import StoreUnavailable, TaskStore
from coatcheck.workers.runs.runner import Runner
from coatcheck.workers.telemetry.logs import about, facts_of_message

logger = logging.getLogger(__name__)


class RunRequest(Request):
    """A delivered message that starts a run.

    Celery calls this class in the main process, which survives the process of the run.
    """

    runner: Runner
    """Set by the subclass that `requests_of` makes for a worker."""

    def on_timeout(self, soft: bool, timeout: float) -> None:
        """Fail the task of a run that was killed at its time limit: another run would reach the same limit."""
        super().on_timeout(soft, timeout)
        if not soft:
            self._tell(self.runner.killed_at_limit)

    def on_failure(self, exc_info: Any, send_failed_event: bool = True, return_ok: bool = False) -> Any:
        """Recover or cancel the task of a run whose process died now, not when its lease ends."""
        fault = exc_info.exception
        match getattr(fault, "exc", fault):
            case Terminated() if self.id in revoked:
                in_background(str(self.id), cancel_run, self.runner.store, str(self.id))
            case Terminated():
                # The process was killed because of another run after it had started this one. Celery would report this
                # one as revoked.
                self._tell(self.runner.lost)
                exc_info = _lost_process()
            case WorkerLostError():
                self._tell(self.runner.lost)
        return super().on_failure(exc_info, send_failed_event, return_ok)

    def _tell(self, judge: Callable[[str, int], None]) -> None:
        in_background(str(self.id), judge, str(self.id).partition(".")[0], self.worker_pid)


def _lost_process() -> ExceptionInfo:
    """Return the exception for a run that ended with its process."""
    try:
        raise WorkerLostError("its process was ended because of another run")
    except WorkerLostError:
        return ExceptionInfo()


def cancel_run(store: TaskStore, message_id: str) -> None:
    """Cancel the task whose run this message starts or started."""
    task_id, _, number = message_id.partition(".")
    if number.isdecimal():
        store.revoke(task_id, int(number))


def in_background(message_id: str, write: Callable[..., object], *args: Any) -> None:
    """Write to the record in a thread, because the store can be unavailable and the worker must continue."""
    threading.Thread(target=_attempt, args=(message_id, write, *args), name="coatcheck-judge").start()


def _attempt(message_id: str, write: Callable[..., object], *args: Any) -> None:
    with about(**facts_of_message(message_id)):
        try:
            write(*args)
        except StoreUnavailable as fault:
            logger.warning("left to the sweeper: %s", fault)


def requests_of(runner: Runner) -> type[RunRequest]:
    """Return the request class of a worker with this runner."""
    return type("RunRequest", (RunRequest,), {"runner": runner})
