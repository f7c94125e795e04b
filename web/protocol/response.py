"""What a message leads to: an answer, or a wait for one."""

from collections.abc import Collection, Generator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from coatcheck.web.protocol.caller import Caller
from coatcheck.web.protocol.envelope import HeaderLookup


@dataclass(frozen=True, slots=True)
class RpcResponse:
    """A JSON-RPC response, and how it goes out."""

    message: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


ACCEPTED = RpcResponse(b"", 202)
"""What a notification gets. Source: basic/transports/streamable-http, "Sending Messages"."""

ResponseGenerator = Generator[bytes | None, None, RpcResponse]
"""Messages that the client may hear of meanwhile, None now and then for a pause, and at last an answer, whatever goes
wrong. To be closed when nobody wants the answer any more."""


@dataclass(frozen=True, slots=True)
class PendingResponse:
    """A call that is being answered."""

    answering: ResponseGenerator
    is_streamed: bool
    """The client wants to hear of what happens meanwhile."""
    keeps_request: bool = True
    """What was asked stays in memory until the answer is there."""


Reply = RpcResponse | PendingResponse


class ProtocolHandler(Protocol):
    """One way to speak MCP, of several at one address."""

    methods: Collection[str]
    """The names of all that it serves."""

    def accepts(self, body: object, header: HeaderLookup) -> bool:
        """The message is written for this one."""

    def handle(self, body: object, caller: Caller, header: HeaderLookup) -> Reply:
        """What the client gets; nothing that it sends raises here."""


def start_response(
    answering: ResponseGenerator, *, is_streamed: bool, keeps_request: bool = True
) -> RpcResponse | PendingResponse:
    """The wait, once it is one: what fails before has a status of its own and needs no stream."""
    try:
        next(answering)
    except StopIteration as end:
        answer: RpcResponse = end.value
        return answer
    return PendingResponse(answering, is_streamed, keeps_request)
