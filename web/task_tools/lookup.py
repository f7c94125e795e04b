"""Finds the task that a companion is asked about."""

from collections.abc import Callable

from coatcheck.tasks_store import Task, TaskNotFound
from coatcheck.web.access.scopes import Scopes
from coatcheck.web.protocol.call import Call
from coatcheck.web.streams.connections import Connections
from coatcheck.workers.toolkit.errors import ToolError

NO_TASK = "There is no task with this id."
"""Said of unknown, malformed, foreign and purged ids alike."""


class TaskLookup:
    """Knows the tasks that a caller may see: their own, of tools that they may use."""

    def __init__(self, connections: Callable[[], Connections], scopes: Scopes) -> None:
        self._connections = connections
        self._scopes = scopes

    def task(self, call: Call, task_id: str, method: str) -> Task:
        """The task as it stands, for a companion that does what this method does.

        Raises:
            ToolError: this owner has no such task.
            InsufficientScope: the method, or the tool of the task, takes more than the caller was granted.
        """
        self._scopes.check_as(call, method)
        try:
            task = self._connections().store.get(call.owner, task_id)
        except TaskNotFound as fault:
            raise ToolError(NO_TASK) from fault
        self._scopes.check_task(call, task.tool)
        return task
