"""Limit the messages that wait for a worker."""

import time
from collections.abc import Callable
from typing import Final

from coatcheck.web.errors import LimitReached
from coatcheck.workers.messages.dispatcher import Dispatcher
from coatcheck.workers.toolkit.errors import BrokerUnavailable

QUEUE_CHECK_S: Final = 1.0
"""Seconds between two queries of the broker."""

BACKLOG_RETRY_S: Final = 5.0
"""Seconds after which a client can try again; a full queue does not empty in one second."""


class BacklogLimit:
    """Refuses calls whose queue is full."""

    def __init__(self, most: int, dispatcher: Callable[[], Dispatcher]) -> None:
        self._most = most
        self._dispatcher = dispatcher
        self._lengths: dict[str, tuple[float, int]] = {}

    def check(self, tool: str) -> None:
        """Check that the tool's queue has room, with a queue length of at most a second ago.

        Raises:
            LimitReached: the queue is full.
        """
        if not self._most:
            return
        dispatcher = self._dispatcher()
        queue = dispatcher.queue_of(tool)
        look_at, length = self._lengths.get(queue, (0.0, 0))
        now = time.monotonic()
        if now >= look_at:
            # Set before asking, so that one request asks and the others go on.
            self._lengths[queue] = (now + QUEUE_CHECK_S, length)
            length = self._length(dispatcher, queue)
            self._lengths[queue] = (time.monotonic() + QUEUE_CHECK_S, length)
        if length >= self._most:
            raise LimitReached("backlog", "Too much work is waiting for a worker; try again later", BACKLOG_RETRY_S)

    def _length(self, dispatcher: Dispatcher, queue: str) -> int:
        try:
            return dispatcher.backlog(queue)
        except BrokerUnavailable:
            return 0  # the record says what is due, and the sweeper sends it
