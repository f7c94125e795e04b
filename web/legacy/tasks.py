"""`tasks/get`, `tasks/result`, `tasks/list` and `tasks/cancel`, as they were while they were an experiment."""

from collections.abc import Callable, Generator
from functools import partial
from typing import Final

from marshmallow import fields

from tasks_store import InvalidCursor, Status, Task, Wanted
from web.auth.scopes import Scopes
from web.call import Params
from web.calls import Calls
from web.connections import Connections
from web.errors import InvalidParams, NotAcceptable
from web.jobs import Jobs
from web.legacy.asked import Asked
from web.legacy.replies import Replies, Result
from web.legacy.result_stream import ResultOpening
from web.legacy.wire import call_result, task_shown, tasks_listed
from web.limits import Limits
from web.settings import Settings
from web.waiting import until
from workers.tool import Catalogue

SPARE_S: Final = 5.0
"""How much longer than its grace a cancel is waited for."""


class TaskParams(Params):
    """Source: 2025-11-25, schema, GetTaskRequest, GetTaskPayloadRequest and CancelTaskRequest."""

    task_id = fields.String(required=True, data_key="taskId")


class ListParams(Params):
    """Source: 2025-11-25, server/utilities/pagination."""

    cursor = fields.String()


TASK_PARAMS: Final = TaskParams()
LIST_PARAMS: Final = ListParams()

PAGE: Final = 50
"""Tasks on one page."""


class OlderTasks:
    """The methods on tasks, which are the tasks of today. Knowing an id grants nothing here either."""

    def __init__(
        self,
        catalogue: Catalogue,
        settings: Settings,
        connections: Callable[[], Connections],
        calls: Calls,
        jobs: Jobs,
        scopes: Scopes,
        limits: Limits,
        replies: Replies,
    ) -> None:
        self._catalogue = catalogue
        self._connections = connections
        self._calls = calls
        self._jobs = jobs
        self._scopes = scopes
        self._limits = limits
        self._replies = replies
        store = settings.store
        self._cancel_s = (store.cancel_grace_ms + store.sweep_ms) / 1000 + SPARE_S

    def get(self, asked: Asked) -> Result:
        """The task as it stands. Source: 2025-11-25, basic/utilities/tasks, "Getting Tasks"."""
        return task_shown(self._polled(asked))

    def result(self, asked: Asked) -> Result | ResultOpening:
        """What the call would have been answered with; a task that has not ended is waited for, on a stream.

        Source: 2025-11-25, basic/utilities/tasks, "Retrieving Task Results".
        """
        task = self._polled(asked)
        if task.status.is_terminal:
            return self._ended(asked, task)
        if not asked.takes_events:
            raise NotAcceptable("The result of a task that has not ended comes as text/event-stream")
        self._connections().streams.take_seat(asked.call.owner)
        return ResultOpening(
            asked.request_id,
            asked.call.caller,
            task.task_id,
            asked.revision,
            partial(self._response, asked),
            partial(self._refused, asked),
        )

    def list(self, asked: Asked) -> Result:
        """One page of this owner's tasks, the newest first, but for those of tools that the caller may not use.

        Source: 2025-11-25, basic/utilities/tasks, "Listing Tasks".
        """
        cursor = asked.call.params(LIST_PARAMS).get("cursor", "")
        caller = asked.call.caller
        hidden = frozenset(tool.name for tool in self._catalogue if not self._scopes.may_use(caller, tool))
        try:
            page = self._connections().store.listing.page(
                caller.owner, Wanted(hidden_tools=hidden), limit=PAGE, cursor=cursor
            )
        except InvalidCursor as fault:
            raise InvalidParams("cursor: is not one that this server gave") from fault
        return tasks_listed(page.tasks, page.cursor)

    def cancel(self, asked: Asked) -> Generator[bytes | None, None, Result]:
        """The task has been cancelled. A job that runs ends at its next checkpoint, or is fenced off after its grace.

        Source: 2025-11-25, basic/utilities/tasks, "Task Cancellation".
        """
        task = self._permitted(asked)
        owner, read = asked.call.owner, self._calls.reader(asked.call.owner, task.task_id)
        if not task.status.is_terminal:
            with self._calls.room.seat() as may_wait, self._connections().feed.watch(task.task_id) as watch:
                self._jobs.cancel(owner, task.task_id)
                limit_s = self._cancel_s if may_wait else 0
                seen = yield from until(lambda task: task.status.is_terminal, read(), read, watch, limit_s)
            task = seen or read()
            if not task.status.is_terminal or task.status is Status.CANCELLED:
                return task_shown(task)
        raise InvalidParams(f"taskId: the task has ended as {task.status.value}")

    def _polled(self, asked: Asked) -> Task:
        """The task, unless it is asked for too often."""
        task_id = asked.call.params(TASK_PARAMS)["task_id"]
        self._limits.check_poll(asked.call.owner, task_id)
        return self._permitted(asked)

    def _permitted(self, asked: Asked) -> Task:
        """The task, of a tool that the caller may use."""
        task_id = asked.call.params(TASK_PARAMS)["task_id"]
        task = self._connections().store.get(asked.call.owner, task_id)
        self._scopes.check_task(asked.call, task.tool)
        return task

    def _ended(self, asked: Asked, task: Task) -> Result:
        return call_result(asked.revision, self._calls.ended(task), task.task_id)

    def _response(self, asked: Asked, task: Task) -> bytes:
        try:
            return self._replies.result(asked.request_id, self._ended(asked, task)).message
        except Exception as fault:  # noqa: BLE001 - one fault must not end the thread of all streams
            return self._refused(asked, fault)

    def _refused(self, asked: Asked, fault: Exception) -> bytes:
        return self._replies.refused(fault, asked.method, asked.request_id).message
