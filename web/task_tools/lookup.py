"""Look up the task that a task tool is called with."""

from collections.abc import Callable

from coatcheck.tasks_store import Task, TaskNotFound
from coatcheck.web.access.scopes import Scopes
from coatcheck.web.protocol.call import Call
from coatcheck.web.streams.connections import Connections
from coatcheck.workers.toolkit.errors import ToolError

NO_TASK = "There is no task with this id."
"""The same message for unknown, malformed, foreign and purged ids."""


class TaskLookup:
    """Finds tasks that the caller owns, of tools that they can use."""

    def __init__(self, connections: Callable[[], Connections], scopes: Scopes) -> None:
        self._connections = connections
        self._scopes = scopes

    def task(self, call: Call, task_id: str, method: str) -> Task:
        """Return the task, for a tool that does what this method does.

        Raises:
            ToolError: this owner has no such task.
            InsufficientScope: the caller lacks a scope of the method or of the task's tool.
        """
        self._scopes.check_as(call, method)
        try:
            task = self._connections().store.get(call.owner, task_id)
        except TaskNotFound as fault:
            raise ToolError(NO_TASK) from fault
        self._scopes.check_task(call, task.tool)
        return task
