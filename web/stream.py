"""One open stream: whom it is for, which tasks it follows, and its end."""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol

from tasks_store import Owner, Task
from web.auth.caller import Caller
from web.envelope import RequestId
from web.events import COMMENT, COMMENT_S, event
from web.outlet import Outlet


class Stream(ABC):
    """Tells one client of its tasks. Every method that writes raises OSError when the client has left."""

    def __init__(self, caller: Caller, task_ids: Sequence[str], outlet: Outlet) -> None:
        self.task_ids = task_ids
        """The tasks that are followed."""
        self.outlet = outlet
        self.is_ended = False
        self._caller = caller

    @property
    def owner(self) -> Owner:
        """Whose tasks are told."""
        return self._caller.owner

    @property
    def is_still_allowed(self) -> bool:
        """What the client proved itself with still counts. Source: basic/authorization, "Token Handling"."""
        return self._caller.counts

    @property
    def is_over(self) -> bool:
        """The client has been sent everything, the end included."""
        return self.is_ended and self.outlet.is_empty

    @abstractmethod
    def begin(self, head: bytes) -> None:
        """The response has begun."""

    @abstractmethod
    def tell(self, task: Task) -> None:
        """The client hears of this state, or of a newer one."""

    @abstractmethod
    def forget(self, task_id: str) -> None:
        """The task is gone; there is nothing more to tell of it."""

    def advance(self) -> None:
        """As much has been told as the client takes."""
        self.outlet.flush()
        if not self.is_still_allowed:
            self.end()

    def keep_alive(self) -> None:
        """The stream was not silent for longer than those who carry it bear. Source: SSE, "Authoring notes"."""
        if self.outlet.is_empty and time.monotonic() - self.outlet.written_at > COMMENT_S:
            self.outlet.write(COMMENT)

    def end(self) -> None:
        """The client is told that this is the end, once."""
        self._end(self._last_word)

    @property
    @abstractmethod
    def _last_word(self) -> bytes:
        """The response that a stream ends with which is ended from here."""

    def _end(self, response: bytes) -> None:
        if not self.is_ended:
            self.is_ended = True
            self.outlet.write(event(response))


class Opening(Protocol):
    """A request whose parameters have been read, whose caller has a seat, and whose answer is a stream."""

    @property
    def method(self) -> str:
        """What was asked."""

    @property
    def request_id(self) -> RequestId:
        """What it is answered under."""

    @property
    def caller(self) -> Caller:
        """Whose seat it is."""

    def open(self, outlet: Outlet, server_info: Mapping[str, str]) -> Stream:
        """The stream on this connection."""
