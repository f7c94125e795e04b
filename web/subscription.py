"""What a client listens to. Pure."""

from dataclasses import dataclass

from web.auth.caller import Caller
from web.envelope import RequestId


@dataclass(frozen=True, slots=True)
class Subscription:
    """A `subscriptions/listen` whose parameters have been read and whose caller has a seat."""

    request_id: RequestId
    caller: Caller
    task_ids: tuple[str, ...] | None
    """The tasks whose states are told, each once, all of them the caller's; None when no tasks were asked for."""
