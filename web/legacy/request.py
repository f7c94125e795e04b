"""One request of an older client."""

from dataclasses import dataclass

from coatcheck.web.legacy.revisions import Revision
from coatcheck.web.protocol.call import Call
from coatcheck.web.protocol.envelope import RequestId


@dataclass(frozen=True, slots=True)
class LegacyRequest:
    """A request whose envelope is in order, on its way to the method that serves it."""

    request_id: RequestId
    method: str
    call: Call
    """The request as today's code sees it: with the capabilities that its revision stands for, and under the name that
    its method has today, which is what scopes are given for."""
    revision: Revision
    takes_events: bool
    """The answer may be an event stream."""
    token: RequestId | None
    """What progress is to be reported under, when the client wants any."""
