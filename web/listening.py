"""The stream of a subscription: what its client has been told, and what is still to be told."""

from collections.abc import Mapping, Sequence

from tasks_store import Task
from web.auth.caller import Caller
from web.envelope import RequestId
from web.events import event
from web.outlet import Outlet
from web.stream import Stream
from web.wire import acknowledged, subscription_ended, task_notification


class Listening(Stream):
    """Tells each state of each task once.

    At most one message waits for a slow reader; of the tasks that change meanwhile only the newest state is kept.
    """

    def __init__(
        self,
        request_id: RequestId,
        caller: Caller,
        task_ids: Sequence[str] | None,
        outlet: Outlet,
        server_info: Mapping[str, str],
    ) -> None:
        super().__init__(caller, task_ids or (), outlet)
        self._request_id = request_id
        self._honoured = task_ids
        self._server_info = server_info
        self._told: dict[str, Task] = {}
        self._news: dict[str, Task] = {}
        self._open = set(self.task_ids)

    def begin(self, head: bytes) -> None:
        """The response has begun; its first message says what is going to be told.

        Source: basic/patterns/subscriptions, "Acknowledgment".
        """
        self.outlet.write(head + event(acknowledged(self._request_id, self._honoured)))
        self._end_if_all_is_told()

    def tell(self, task: Task) -> None:
        """The client hears of this state, unless it has heard of it before, or of a newer one by then."""
        if self._told.get(task.task_id) != task:
            self._news[task.task_id] = task
            self.advance()

    def forget(self, task_id: str) -> None:
        """The task is gone; there is nothing more to tell of it."""
        self._news.pop(task_id, None)
        self._open.discard(task_id)
        self._end_if_all_is_told()

    def advance(self) -> None:
        """As much has been told as the client takes."""
        super().advance()
        while self._news and self.outlet.is_empty and not self.is_ended:
            task_id = next(iter(self._news))
            task = self._told[task_id] = self._news.pop(task_id)
            self.outlet.write(event(task_notification(self._request_id, task)))
            if task.status.is_terminal:
                self._open.discard(task_id)
        self._end_if_all_is_told()

    @property
    def _last_word(self) -> bytes:
        """Source: basic/patterns/subscriptions, "Graceful Closure"."""
        return subscription_ended(self._request_id, self._server_info)

    def _end_if_all_is_told(self) -> None:
        if not self._open:
            self.end()
