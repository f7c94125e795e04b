"""Convert the progress of a request to notifications for its client."""

from collections.abc import Generator
from typing import TypeVar

import orjson

from coatcheck.web.protocol.envelope import RequestId
from coatcheck.web.protocol.serialization import progress_message

T = TypeVar("T")


class ProgressNotifications:
    """Notifications whose progress strictly increases over the whole request.

    Source: basic/patterns/progress.
    """

    def __init__(self, token: RequestId | None) -> None:
        """Without a token no notifications are sent."""
        self._token = token
        self._reached = float("-inf")

    def wrap(self, wait: Generator[bytes | None, None, T]) -> Generator[bytes | None, None, T]:
        """Run the generator, and yield a message for each progress that is sent, None for anything else."""
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
