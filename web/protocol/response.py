"""The result of handling a message: a response, or a pending one."""

from collections.abc import Collection, Generator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from coatcheck.web.protocol.caller import Caller
from coatcheck.web.protocol.envelope import HeaderLookup


@dataclass(frozen=True, slots=True)
class RpcResponse:
    """A JSON-RPC response with its HTTP status and headers."""

    message: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


ACCEPTED = RpcResponse(b"", 202)
"""The response to a notification. Source: basic/transports/streamable-http, "Sending Messages"."""

ResponseGenerator = Generator[bytes | None, None, RpcResponse]
"""Yields messages for the client and None for a pause, and returns the response; it does not raise. Close it when the
response is no longer wanted."""


@dataclass(frozen=True, slots=True)
class PendingResponse:
    """A response that is being produced."""

    answering: ResponseGenerator
    is_streamed: bool
    """The client wants the messages that precede the response."""
    keeps_request: bool = True
    """The parsed request stays in memory until the response is sent."""


Reply = RpcResponse | PendingResponse


class ProtocolHandler(Protocol):
    """Handles the messages of one family of protocol revisions."""

    methods: Collection[str]
    """Names of the methods and notifications that it serves."""

    def accepts(self, body: object, header: HeaderLookup) -> bool:
        """Tell whether the message belongs to this handler."""

    def handle(self, body: object, caller: Caller, header: HeaderLookup) -> Reply:
        """Handle the message and return its reply. Does not raise for anything that a client sends."""


def begin_response(
    answering: ResponseGenerator, *, is_streamed: bool, keeps_request: bool = True
) -> RpcResponse | PendingResponse:
    """Start the generator, and return the response if it ends at once: early errors keep their own HTTP status and need
    no stream."""
    try:
        next(answering)
    except StopIteration as end:
        answer: RpcResponse = end.value
        return answer
    return PendingResponse(answering, is_streamed, keeps_request)
