"""Progress and cancellation for a Celery task of yours that is exposed as a tool.

This file needs only Celery. Import it where Coatcheck is installed, or copy it into your project. The task stays a
plain Celery task: without Coatcheck it is never cancelled, and its progress is an ordinary custom state.

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
"""Suffix of the key in the result backend that marks a message as cancelled."""


class TaskCancelled(Ignore):
    """The task was cancelled. Celery never retries a task that raises this."""


class TaskContext:
    """The tool call of the running Celery task. All parts of a chord that replaces the task share it."""

    def __init__(self, task: Any) -> None:
        self._task = task
        self._call_id = task.request.root_id or task.request.id

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report progress to the caller."""
        meta = {"current": done, "total": total, "message": message}
        self._task.update_state(task_id=self._call_id, state="PROGRESS", meta=meta)

    @property
    def is_cancelled(self) -> bool:
        """Whether the call was cancelled; always False on a result backend that is not a key-value store."""
        backend = self._task.backend
        if not isinstance(backend, BaseKeyValueStoreBackend):
            return False
        return bool(backend.get(backend.get_key_for_task(self._call_id, CANCELLED)))

    def check_cancelled(self) -> None:
        """Raise TaskCancelled if the call was cancelled.

        Raises:
            TaskCancelled: the call was cancelled; the task's state is REVOKED.
        """
        if self.is_cancelled:
            request = self._task.request
            self._task.backend.mark_as_revoked(request.id, "cancelled", request)
            raise TaskCancelled


def current_task_context() -> TaskContext:
    """Return the context of the running Celery task.

    Raises:
        RuntimeError: no Celery task is running.
    """
    if not current_task.request.id:
        raise RuntimeError("no Celery task is running here")
    return TaskContext(current_task)
