"""`tasks/get`, `tasks/update` and `tasks/cancel`."""

from collections.abc import Callable, Mapping
from typing import Final

from marshmallow import fields

from coatcheck.tasks_store import Task
from coatcheck.web.access.access_policy import AccessPolicy
from coatcheck.web.errors import MissingClientCapability
from coatcheck.web.protocol.call import Call, Params
from coatcheck.web.protocol.envelope import TASKS_EXTENSION
from coatcheck.web.protocol.serialization import COMPLETE, get_task_result
from coatcheck.web.streams.connections import Connections
from coatcheck.web.tool_calls.input_responses import checked_answers
from coatcheck.web.tool_calls.jobs import Jobs

TASKS_CAPABILITY: Final[Mapping[str, object]] = {"extensions": {TASKS_EXTENSION: {}}}
"""The capability that every method on tasks requires."""


class UpdateParams(Params):
    """Schema of the parameters of `tasks/update`."""

    input_responses = fields.Dict(required=True, data_key="inputResponses")


UPDATE_PARAMS: Final = UpdateParams()


def check_knows_tasks(call: Call) -> None:
    """Check that the client declared the tasks extension. Raises MissingClientCapability."""
    if not call.request.declares_tasks:
        raise MissingClientCapability(TASKS_CAPABILITY)


class TaskMethods:
    """Serves the methods on tasks. Every look-up includes the owner, so an id alone grants nothing.

    Each raises MissingClientCapability before any other check, and the same TaskNotFound for every id that is not a
    task of this owner.
    """

    def __init__(self, connections: Callable[[], Connections], jobs: Jobs, access_policy: AccessPolicy) -> None:
        self._connections = connections
        self._jobs = jobs
        self._scopes = access_policy.scopes
        self._limits = access_policy.limits

    def get(self, call: Call) -> dict[str, object]:
        """Return the task. Source: ext-tasks, tasks.md, "Task Polling"."""
        check_knows_tasks(call)
        self._limits.check_poll(call.owner, call.request.name)
        return get_task_result(self._permitted(call))

    def update(self, call: Call) -> Mapping[str, object]:
        """Store the answers to open inputs, all or none. Other keys and ended tasks change nothing.

        Source: ext-tasks, tasks.md, "Task Update Requests".
        """
        check_knows_tasks(call)
        params = call.params(UPDATE_PARAMS)
        task = self._permitted(call)
        self._jobs.answer(call.owner, task.task_id, checked_answers(task.input_requests, params["input_responses"]))
        return COMPLETE

    def cancel(self, call: Call) -> Mapping[str, object]:
        """Request cancellation; an ended task is unchanged. Source: ext-tasks, tasks.md, "Task Cancellation"."""
        check_knows_tasks(call)
        if not self._scopes.may_use_all(call.caller):
            self._permitted(call)
        self._jobs.cancel(call.owner, call.request.name)
        return COMPLETE

    def _permitted(self, call: Call) -> Task:
        """Return the task, if the caller can use its tool: a token with fewer scopes sees fewer of its own tasks."""
        task = self._connections().store.get(call.owner, call.request.name)
        self._scopes.check_task(call, task.tool)
        return task
