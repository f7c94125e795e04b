"""One open stream: what its client has been told, what is still to be told, and the end."""

import time
from collections.abc import Mapping

from tasks_store import Owner, Task
from web.outlet import Outlet
from web.streaming import COMMENT, COMMENT_S, event
from web.subscription import Subscription
from web.wire import acknowledged, subscription_ended, task_notification


class Stream:
    """Tells one client of its tasks. Every method that writes raises OSError when the client has left.

    At most one message waits for a slow reader; of the tasks that change meanwhile only the newest state is kept.
    """

    def __init__(self, subscription: Subscription, outlet: Outlet, server_info: Mapping[str, str]) -> None:
        self.subscription = subscription
        self.outlet = outlet
        self._server_info = server_info
        self._told: dict[str, Task] = {}
        self._news: dict[str, Task] = {}
        self._open = set(subscription.task_ids or ())
        self.is_ended = False

    @property
    def owner(self) -> Owner:
        """Whose tasks are told."""
        return self.subscription.caller.owner

    @property
    def has_expired(self) -> bool:
        """What the client proved itself with counts no more. Source: basic/authorization, "Token Handling"."""
        expires_s = self.subscription.caller.expires_s
        return expires_s is not None and expires_s <= time.time()

    @property
    def is_over(self) -> bool:
        """The client has been sent everything, the end included."""
        return self.is_ended and self.outlet.is_empty

    def begin(self, head: bytes) -> None:
        """The response has begun; its first message says what is going to be told.

        Source: basic/patterns/subscriptions, "Acknowledgment".
        """
        subscription = self.subscription
        self.outlet.write(head + event(acknowledged(subscription.request_id, subscription.task_ids)))
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
        self.outlet.flush()
        if self.has_expired:
            self.end()
        while self._news and self.outlet.is_empty and not self.is_ended:
            task_id = next(iter(self._news))
            task = self._told[task_id] = self._news.pop(task_id)
            self.outlet.write(event(task_notification(self.subscription.request_id, task)))
            if task.status.is_terminal:
                self._open.discard(task_id)
        self._end_if_all_is_told()

    def keep_alive(self) -> None:
        """The stream was not silent for longer than those who carry it bear. Source: SSE, "Authoring notes"."""
        if self.outlet.is_empty and time.monotonic() - self.outlet.written_at > COMMENT_S:
            self.outlet.write(COMMENT)

    def end(self) -> None:
        """The client is told that this is the end, once.

        Source: basic/patterns/subscriptions, "Graceful Closure".
        """
        if not self.is_ended:
            self.is_ended = True
            self.outlet.write(event(subscription_ended(self.subscription.request_id, self._server_info)))

    def _end_if_all_is_told(self) -> None:
        if not self._open:
            self.end()
