"""The progress of one request, as its client is told of it."""

from collections.abc import Generator
from typing import TypeVar

import orjson

from coatcheck.web.protocol.envelope import RequestId
from coatcheck.web.protocol.serialization import progress_message

T = TypeVar("T")


class ProgressNotifications:
    """Notifications of progress that strictly increases over all that a request waits for.

    Source: basic/patterns/progress.
    """

    def __init__(self, token: RequestId | None) -> None:
        """Without a token the client wants to hear nothing."""
        self._token = token
        self._reached = float("-inf")

    def wrap(self, wait: Generator[bytes | None, None, T]) -> Generator[bytes | None, None, T]:
        """The same wait, but what it yields are messages; None for a pause, and for what is not told."""
        try:
            while True:
                yield self._message(next(wait))
        except StopIteration as end:
            ended: T = end.value
            return ended
        finally:
            wait.close()

    def _message(self, progress: bytes | None) -> bytes | None:
        if progress is None or self._token is None:
            return None
        told = orjson.loads(progress)
        if told["progress"] <= self._reached:
            return None
        self._reached = told["progress"]
        return progress_message(self._token, told)
