"""`subscriptions/listen`."""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Final

from marshmallow import fields

from coatcheck.tasks_store import Task, TaskNotFound
from coatcheck.web.access.access_policy import AccessPolicy
from coatcheck.web.errors import InvalidParams, NotAcceptable
from coatcheck.web.methods.tasks import check_knows_tasks
from coatcheck.web.protocol.call import Call, Params
from coatcheck.web.protocol.request_guard import accepted_types
from coatcheck.web.protocol.serialization import (
    Result,
    subscription_acknowledged,
    subscription_ended,
    task_notification,
)
from coatcheck.web.streams.broadcaster import Subscriber
from coatcheck.web.streams.connections import Connections
from coatcheck.web.streams.waiting import WAIT_INTERVAL_S, Stream

MAX_TASKS_PER_STREAM: Final = 100
"""Each costs as much as a request."""


class NotificationFilter(Params):
    """Schema of the filter. Source: basic/patterns/subscriptions, "Notification Filter"; ext-tasks, tasks.md, "Task
    Status Notifications"."""

    task_ids = fields.List(fields.String(), data_key="taskIds")


class SubscriptionParams(Params):
    """Schema of the parameters."""

    notifications = fields.Nested(NotificationFilter, required=True)


SUBSCRIPTION_PARAMS: Final = SubscriptionParams()

Messages = Generator[bytes | None, None, Result]


class Subscriptions:
    """Serves streams of task states, for clients that do not poll."""

    def __init__(
        self, connections: Callable[[], Connections], access_policy: AccessPolicy, server_info: Mapping[str, str]
    ) -> None:
        self._connections = connections
        self._scopes = access_policy.scopes
        self._limits = access_policy.limits
        self._server_info = server_info

    def listen(self, call: Call) -> Stream:
        """Send each state of the requested tasks once. Tasks that the caller does not own are left out.

        Source: basic/patterns/subscriptions; ext-tasks, tasks.md, "Task Status Notifications".
        """
        if not accepted_types(call.header("Accept") or "").event_stream:
            raise NotAcceptable("subscriptions/listen is answered as text/event-stream")
        wanted: Sequence[str] | None = call.params(SUBSCRIPTION_PARAMS)["notifications"].get("task_ids")
        if wanted is not None:
            check_knows_tasks(call)
            if len(wanted) > MAX_TASKS_PER_STREAM:
                raise InvalidParams(f"notifications.taskIds: names more than {MAX_TASKS_PER_STREAM} tasks")
            self._limits.check_request(call.owner, len(wanted))
        return Stream(self._messages(call, wanted))

    def _messages(self, call: Call, wanted: Sequence[str] | None) -> Messages:
        streams = self._connections().streams
        with streams.slot(call.owner):
            owned = self._owned(call, wanted or ())
            told, call, wanted = None if wanted is None else owned, call.without_content, None
            with streams.subscribe(call.owner, owned) as subscriber:
                yield None  # what fails before has a status of its own
                yield subscription_acknowledged(call.request.id, told)
                yield from self._states(call, subscriber)
        return subscription_ended(call.request.id, self._server_info)

    def _states(self, call: Call, subscriber: Subscriber) -> Generator[bytes | None, None, None]:
        """Yield each state of each task, until all have ended, the caller is no longer valid, or the process shuts
        down."""
        streams = self._connections().streams
        open_ids = set(subscriber.task_ids)
        while open_ids and not streams.is_ending:
            news = subscriber.take(WAIT_INTERVAL_S)
            for task_id, task in news.items():
                if not call.caller.is_valid:  # Source: basic/authorization, "Token Handling"
                    return
                if task is not None and (whole := self._whole(call, task)) is not None:
                    yield task_notification(call.request.id, whole)
                if task is None or task.status.is_terminal:
                    open_ids.discard(task_id)
            if not news:
                if not call.caller.is_valid:
                    return
                yield None

    def _whole(self, call: Call, task: Task) -> Task | None:
        """Return the task with its result; None when it is gone."""
        try:
            return self._connections().streams.whole(call.owner, task)
        except TaskNotFound:
            return None

    def _owned(self, call: Call, task_ids: Sequence[str]) -> tuple[str, ...]:
        """Return those of the tasks that the caller owns, in one round trip. Raises InsufficientScope."""
        wanted = dict.fromkeys(task_ids)
        tasks = self._connections().store.get_all([(call.owner, task_id) for task_id in wanted], most=0)
        for task in tasks:
            if task is not None:
                self._scopes.check_task(call, task.tool)
        return tuple(task.task_id for task in tasks if task is not None)
