"""What a Celery task of yours can have of Coatcheck: progress, and whether somebody cancelled it.

This file needs Celery and nothing else. Import it where Coatcheck is installed, or copy it into your project. The task
stays a plain Celery task: without Coatcheck nobody cancels it, and its progress is a state like any other.

    @app.task
    def close_month(month):
        context = current_task_context()
        for number, account in enumerate(accounts, 1):
            context.check_cancelled()
            close(account)
            context.progress(number, len(accounts), f"Closed {account}")
"""

from typing import Any

from celery import current_task
from celery.backends.base import BaseKeyValueStoreBackend
from celery.exceptions import Ignore

CANCELLED = "-coatcheck-cancelled"
"""Ends the key that stands beside a message's result when it is cancelled."""


class TaskCancelled(Ignore):
    """Somebody cancelled the task. Celery does not retry on it, whatever the task is retried for."""


class TaskContext:
    """The call that the Celery task running here works for. The parts of a chord that it was replaced by share it."""

    def __init__(self, task: Any) -> None:
        self._task = task
        self._call_id = task.request.root_id or task.request.id

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """The caller sees how far the work is."""
        meta = {"current": done, "total": total, "message": message}
        self._task.update_state(task_id=self._call_id, state="PROGRESS", meta=meta)

    @property
    def is_cancelled(self) -> bool:
        """Somebody cancelled the call; always False on a result backend that is no key-value store."""
        backend = self._task.backend
        if not isinstance(backend, BaseKeyValueStoreBackend):
            return False
        return bool(backend.get(backend.get_key_for_task(self._call_id, CANCELLED)))

    def check_cancelled(self) -> None:
        """The work may go on.

        Raises:
            TaskCancelled: somebody cancelled it; its state is REVOKED then.
        """
        if self.is_cancelled:
            request = self._task.request
            self._task.backend.mark_as_revoked(request.id, "cancelled", request)
            raise TaskCancelled


def current_task_context() -> TaskContext:
    """The context of the Celery task that is running here.

    Raises:
        RuntimeError: none is.
    """
    if not current_task.request.id:
        raise RuntimeError("no Celery task is running here")
    return TaskContext(current_task)
