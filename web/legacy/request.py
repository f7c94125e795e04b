"""A request of a legacy client."""

from dataclasses import dataclass

from coatcheck.web.legacy.revisions import Revision
from coatcheck.web.protocol.call import Call
from coatcheck.web.protocol.envelope import RequestId


@dataclass(frozen=True, slots=True)
class LegacyRequest:
    """A request with a valid envelope."""

    request_id: RequestId
    method: str
    call: Call
    """The call as current code expects it: with the name of the current method, for its scopes, and the capabilities
    that the revision implies."""
    revision: Revision
    takes_events: bool
    """The response can be an event stream."""
    token: RequestId | None
    """The token of progress notifications; None when the client wants none."""
