"""`tasks/get`, `tasks/result`, `tasks/list` and `tasks/cancel` of the experimental tasks in 2025-11-25."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from marshmallow import fields

from coatcheck.tasks_store import InvalidCursor, Status, Task, TaskNotFound, Wanted
from coatcheck.web.access.access_policy import AccessPolicy
from coatcheck.web.errors import InvalidParams, NotAcceptable, TooManyStreams
from coatcheck.web.legacy.inputs import can_be_asked, request_message
from coatcheck.web.legacy.request import LegacyRequest
from coatcheck.web.legacy.responses import LegacyResult, LegacyWait
from coatcheck.web.legacy.serialization import (
    legacy_call_result,
    legacy_list_tasks_result,
    legacy_task,
    status_notification,
)
from coatcheck.web.methods.tools import LIST_PARAMS
from coatcheck.web.protocol.call import Params
from coatcheck.web.settings.web import ServerSettings
from coatcheck.web.streams.connections import Connections
from coatcheck.web.streams.waiting import WAIT_INTERVAL_S, until
from coatcheck.web.tool_calls.calls import Calls
from coatcheck.workers.toolkit.tool import Catalogue

CANCEL_MARGIN_S: Final = 5.0
"""Seconds that a cancel is waited for beyond its grace period."""


class LegacyTaskParams(Params):
    """Schema of the parameters with a task id."""

    task_id = fields.String(required=True, data_key="taskId")


TASK_PARAMS: Final = LegacyTaskParams()

TASKS_PER_PAGE: Final = 50
"""Tasks on one page of `tasks/list`."""


class LegacyTasks:
    """Serves the methods on tasks. Every look-up includes the owner, so an id alone grants nothing."""

    def __init__(
        self,
        catalogue: Catalogue,
        settings: ServerSettings,
        connections: Callable[[], Connections],
        calls: Calls,
        access_policy: AccessPolicy,
    ) -> None:
        self._catalogue = catalogue
        self._connections = connections
        self._calls = calls
        self._scopes = access_policy.scopes
        self._limits = access_policy.limits
        store = settings.store
        self._cancel_s = (store.cancel_grace_ms + store.sweep_ms) / 1000 + CANCEL_MARGIN_S

    def get(self, request: LegacyRequest) -> LegacyResult:
        """Return the task. Source: 2025-11-25, basic/utilities/tasks, "Getting Tasks"."""
        return legacy_task(self._polled(request))

    def result(self, request: LegacyRequest) -> LegacyResult | LegacyWait:
        """Return the result of the call; for a task that has not ended, wait for it on a stream.

        Source: 2025-11-25, basic/utilities/tasks, "Retrieving Task Results".
        """
        task = self._polled(request)
        if task.status.is_terminal:
            return self._ended(request, task)
        if not request.takes_events:
            raise NotAcceptable("The result of a task that has not ended comes as text/event-stream")
        return self._awaited(request, task.task_id)

    def _awaited(self, request: LegacyRequest, task_id: str) -> LegacyWait:
        """Send the task's inputs, each once, and its status changes, and return its result.

        Source: 2025-11-25, basic/utilities/tasks, "Input Required Status" and "Result Retrieval".
        """
        streams, call = self._connections().streams, request.call.without_content
        request = replace(request, call=call)
        with streams.slot(call.owner), streams.subscribe(call.owner, [task_id]) as subscriber:
            yield None  # what fails before has a status of its own
            is_first = True
            put: set[str] = set()
            while True:
                news = subscriber.take(WAIT_INTERVAL_S)
                if streams.is_ending or not call.caller.is_valid:
                    raise TooManyStreams("This stream ends before the task does; ask again for its result")
                if not news:
                    yield None
                    continue
                task = news[task_id]
                if task is None:
                    raise TaskNotFound(task_id)
                if task.status.is_terminal:
                    return self._ended(request, streams.whole(call.owner, task))
                if not is_first:
                    yield status_notification(task)
                is_first = False
                for key, input_request in task.input_requests.items():
                    if key not in put and can_be_asked(request.revision, input_request):
                        yield request_message(request.revision, task_id, key, input_request)
                    put.add(key)

    def list(self, request: LegacyRequest) -> LegacyResult:
        """Return one page of this owner's tasks, the newest first, without tasks of tools that the caller cannot use.

        Source: 2025-11-25, basic/utilities/tasks, "Listing Tasks".
        """
        cursor = request.call.params(LIST_PARAMS).get("cursor", "")
        caller = request.call.caller
        hidden = frozenset(tool.name for tool in self._catalogue if not self._scopes.may_use(caller, tool))
        try:
            page = self._connections().store.listing.page(
                caller.owner, Wanted(hidden_tools=hidden), limit=TASKS_PER_PAGE, cursor=cursor
            )
        except InvalidCursor as fault:
            raise InvalidParams("cursor: is not one that this server gave") from fault
        return legacy_list_tasks_result(page.tasks, page.cursor)

    def cancel(self, request: LegacyRequest) -> LegacyWait:
        """Cancel the task and wait until it has ended. A running job ends at its next step, or loses its lease after
        the grace period.

        Source: 2025-11-25, basic/utilities/tasks, "Task Cancellation".
        """
        task = self._permitted(request)
        owner, read = request.call.owner, self._calls.reader(request.call.owner, task.task_id)
        if not task.status.is_terminal:
            with self._calls.slot_if_free(owner) as may_wait, self._connections().feed.watch(task.task_id) as watch:
                self._calls.jobs.cancel(owner, task.task_id)
                limit_s = self._cancel_s if may_wait else 0
                seen = yield from until(lambda task: task.status.is_terminal, read(), read, watch, limit_s)
            task = seen or read()
            if not task.status.is_terminal or task.status is Status.CANCELLED:
                return legacy_task(task)
        raise InvalidParams(f"taskId: the task has ended as {task.status.value}")

    def _polled(self, request: LegacyRequest) -> Task:
        """Return the task, within the limit on polls."""
        task_id = request.call.params(TASK_PARAMS)["task_id"]
        self._limits.check_poll(request.call.owner, task_id)
        return self._permitted(request)

    def _permitted(self, request: LegacyRequest) -> Task:
        """Return the task, if the caller can use its tool."""
        task_id = request.call.params(TASK_PARAMS)["task_id"]
        task = self._connections().store.get(request.call.owner, task_id)
        self._scopes.check_task(request.call, task.tool)
        return task

    def _ended(self, request: LegacyRequest, task: Task) -> LegacyResult:
        return legacy_call_result(request.revision, self._calls.final_result(task), task.task_id)
