"""`tasks/get`, `tasks/update` and `tasks/cancel`."""

from collections.abc import Callable, Mapping
from typing import Final

from marshmallow import fields

from web.answers import check_declared, checked_answers
from web.call import Call, Params
from web.connections import Connections
from web.envelope import TASKS_EXTENSION
from web.jobs import Jobs
from web.wire import COMPLETE, task_as_it_stands

REQUIRED: Final[Mapping[str, object]] = {"extensions": {TASKS_EXTENSION: {}}}
"""What a client must declare to do anything with tasks."""


class TaskParams(Params):
    """Source: ext-tasks, tasks.md, "Task Polling" and "Task Cancellation"."""

    task_id = fields.String(required=True, data_key="taskId")


class UpdateParams(TaskParams):
    """Source: ext-tasks, tasks.md, "Task Update Requests"."""

    input_responses = fields.Dict(required=True, data_key="inputResponses")


TASK_PARAMS: Final = TaskParams()
UPDATE_PARAMS: Final = UpdateParams()


class Tasks:
    """The methods on tasks. Knowing an id grants nothing: the owner is part of every look-up.

    Each raises MissingCapability before it looks at anything else, and TaskNotFound in the same words for every id that
    is not a task of this owner.
    """

    def __init__(self, connections: Callable[[], Connections], jobs: Jobs) -> None:
        self._connections = connections
        self._jobs = jobs

    def get(self, call: Call) -> dict[str, object]:
        """The task as it stands. Source: ext-tasks, tasks.md, "Task Polling"."""
        check_declared(REQUIRED, call.request.capabilities)
        task_id = call.params(TASK_PARAMS)["task_id"]
        return task_as_it_stands(self._connections().store.get(call.owner, task_id))

    def update(self, call: Call) -> Mapping[str, object]:
        """The answers to outstanding inputs are durable, all or none; other keys and ended tasks change nothing.

        Source: ext-tasks, tasks.md, "Task Update Requests".
        """
        check_declared(REQUIRED, call.request.capabilities)
        params = call.params(UPDATE_PARAMS)
        task = self._connections().store.get(call.owner, params["task_id"])
        answers = checked_answers(task.input_requests, params["input_responses"])
        if answers:
            self._jobs.answer(call.owner, task.task_id, answers)
        return COMPLETE

    def cancel(self, call: Call) -> Mapping[str, object]:
        """The wish is durable; a task that ended is left as it is. Source: ext-tasks, tasks.md, "Task Cancellation"."""
        check_declared(REQUIRED, call.request.capabilities)
        self._jobs.cancel(call.owner, call.params(TASK_PARAMS)["task_id"])
        return COMPLETE
