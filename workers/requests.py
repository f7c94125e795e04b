"""What the main process of a worker does when the process of a run is killed: the record hears of it at once."""

import logging
from collections.abc import Callable
from typing import Any

from billiard.exceptions import Terminated, WorkerLostError
from celery.worker.request import Request

from tasks_store import StoreUnavailable
from workers.runner import Runner

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
        """A run whose process is gone is judged now, not when its lease ends."""
        fault = exc_info.exception
        if isinstance(getattr(fault, "exc", fault), WorkerLostError | Terminated):
            self._tell(self.runner.lost)
        return super().on_failure(exc_info, send_failed_event, return_ok)

    def _tell(self, judge: Callable[[str, int], None]) -> None:
        task_id, _, number = str(self.id).partition(".")
        try:
            judge(task_id, int(number))
        except (StoreUnavailable, ValueError) as fault:
            logger.warning("task %s: the lease has to end by itself: %s", task_id, fault)


def requests_of(runner: Runner) -> type[RunRequest]:
    """The request class of a worker with this runner."""
    return type("RunRequest", (RunRequest,), {"runner": runner})
