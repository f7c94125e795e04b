"""`subscriptions/listen`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from marshmallow import fields

from tasks_store import Owner, TaskNotFound
from web.auth.scopes import Scopes
from web.call import Call, Params
from web.connections import Connections
from web.errors import InvalidParams, NotAcceptable
from web.guards import acceptable
from web.methods.tasks import check_knows_tasks
from web.subscription import Subscription

MOST_TASKS: Final = 100
"""On one stream; each costs a look at the store before the stream begins."""


class Filter(Params):
    """Source: basic/patterns/subscriptions, "Notification Filter"; ext-tasks, tasks.md, "Task Status Notifications"."""

    task_ids = fields.List(fields.String(), data_key="taskIds")


class ListenParams(Params):
    """Source: basic/patterns/subscriptions, "Opening a Stream"."""

    notifications = fields.Nested(Filter, required=True)


LISTEN_PARAMS: Final = ListenParams()


class Subscriptions:
    """Opens streams on which clients hear of their tasks instead of asking again and again."""

    def __init__(self, connections: Callable[[], Connections], scopes: Scopes) -> None:
        self._connections = connections
        self._scopes = scopes

    def listen(self, call: Call) -> Subscription:
        """What this client is going to be told; its seat is taken. Tasks that it does not own are left out.

        Source: basic/patterns/subscriptions; ext-tasks, tasks.md, "Task Status Notifications".
        """
        if not acceptable(call.header("Accept") or "").event_stream:
            raise NotAcceptable("subscriptions/listen is answered as text/event-stream")
        wanted: Sequence[str] | None = call.params(LISTEN_PARAMS)["notifications"].get("task_ids")
        if wanted is None:
            with self._seat(call.owner):
                return Subscription(call.request.id, call.caller, None)
        check_knows_tasks(call)
        if len(wanted) > MOST_TASKS:
            raise InvalidParams(f"notifications.taskIds: names more than {MOST_TASKS} tasks")
        with self._seat(call.owner):
            owned = tuple(task_id for task_id in dict.fromkeys(wanted) if self._is_owned(call, task_id))
            return Subscription(call.request.id, call.caller, owned)

    def _is_owned(self, call: Call, task_id: str) -> bool:
        try:
            task = self._connections().store.get(call.owner, task_id)
        except TaskNotFound:
            return False
        self._scopes.check_task(call, task.tool)
        return True

    @contextmanager
    def _seat(self, owner: Owner) -> Iterator[None]:
        """A seat is taken, and given back only if the block fails."""
        streams = self._connections().streams
        streams.take_seat(owner)
        try:
            yield
        except BaseException:
            streams.give_seat_back(owner)
            raise
