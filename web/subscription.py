"""What a client listens to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from web.auth.caller import Caller
from web.envelope import RequestId
from web.listening import Listening
from web.outlet import Outlet


@dataclass(frozen=True, slots=True)
class Subscription:
    """A `subscriptions/listen` whose parameters have been read and whose caller has a seat."""

    method: ClassVar[str] = "subscriptions/listen"

    request_id: RequestId
    caller: Caller
    task_ids: tuple[str, ...] | None
    """The tasks whose states are told, each once, all of them the caller's; None when no tasks were asked for."""

    def open(self, outlet: Outlet, server_info: Mapping[str, str]) -> Listening:
        """The stream on this connection."""
        return Listening(self.request_id, self.caller, self.task_ids, outlet, server_info)
