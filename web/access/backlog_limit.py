"""How much work waits for a worker."""

import time
from collections.abc import Callable
from typing import Final

from coatcheck.web.errors import LimitReached
from coatcheck.workers.messages.dispatcher import Dispatcher
from coatcheck.workers.toolkit.errors import BrokerUnavailable

QUEUE_CHECK_S: Final = 1.0
"""How often the broker is asked."""

BACKLOG_RETRY_S: Final = 5.0
"""When a client may try again; a queue that is full does not empty in a second."""


class BacklogLimit:
    """Refuses work for a queue that is full already: it would wait for longer than anybody does."""

    def __init__(self, most: int, dispatcher: Callable[[], Dispatcher]) -> None:
        self._most = most
        self._dispatcher = dispatcher
        self._lengths: dict[str, tuple[float, int]] = {}

    def check(self, tool: str) -> None:
        """The queue of this tool has room, as far as was known within the last second.

        Raises:
            LimitReached: it has not.
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
