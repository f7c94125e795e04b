"""What the main process of a worker does when the process of a run is killed: the record hears of it at once."""

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

    Celery hands its fate to this class in the main process, which lives on when the process of the run does not.
    """

    runner: Runner
    """Set by the class that is made for one worker; see `requests_of`."""

    def on_timeout(self, soft: bool, timeout: float) -> None:
        """A run that ignored its time limit was killed. Another would meet the same limit: the task is failed."""
        super().on_timeout(soft, timeout)
        if not soft:
            self._tell(self.runner.killed_at_limit)

    def on_failure(self, exc_info: Any, send_failed_event: bool = True, return_ok: bool = False) -> Any:
        """A run whose process is gone is judged now, not when its lease ends. An operator may have ended it."""
        fault = exc_info.exception
        match getattr(fault, "exc", fault):
            case Terminated() if self.id in revoked:
                in_background(str(self.id), cancel_run, self.runner.store, str(self.id))
            case Terminated():
                # The process was to end with another run, and had begun this one before it did. Celery would call it
                # revoked.
                self._tell(self.runner.lost)
                exc_info = _lost_process()
            case WorkerLostError():
                self._tell(self.runner.lost)
        return super().on_failure(exc_info, send_failed_event, return_ok)

    def _tell(self, judge: Callable[[str, int], None]) -> None:
        in_background(str(self.id), judge, str(self.id).partition(".")[0], self.worker_pid)


def _lost_process() -> ExceptionInfo:
    """What Celery is told of a process that ended under a run."""
    try:
        raise WorkerLostError("its process was ended because of another run")
    except WorkerLostError:
        return ExceptionInfo()


def cancel_run(store: TaskStore, message_id: str) -> None:
    """The task whose run this message starts, or started, is cancelled."""
    task_id, _, number = message_id.partition(".")
    if number.isdecimal():
        store.revoke(task_id, int(number))


def in_background(message_id: str, write: Callable[..., object], *args: Any) -> None:
    """The record hears of it from a thread: the store may be away, and the worker has to go on."""
    threading.Thread(target=_attempt, args=(message_id, write, *args), name="coatcheck-judge").start()


def _attempt(message_id: str, write: Callable[..., object], *args: Any) -> None:
    with about(**facts_of_message(message_id)):
        try:
            write(*args)
        except StoreUnavailable as fault:
            logger.warning("left to the sweeper: %s", fault)


def requests_of(runner: Runner) -> type[RunRequest]:
    """The request class of a worker with this runner."""
    return type("RunRequest", (RunRequest,), {"runner": runner})
