"""From a message's body to the bytes that answer it: envelope, method, and what goes wrong on the way."""

import logging
import secrets
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field

from web.auth.caller import Caller
from web.call import Call
from web.envelope import SUPPORTED_VERSIONS, HeaderLookup, Message, RequestId, message_of, readable_id, request_of
from web.errors import INTERNAL_ERROR, LimitReached, MethodNotFound, Refusal, refusal_of
from web.subscription import Subscription
from web.waiting import Progress
from web.wire import Result, error_message, result_message
from workers.errors import places_of

logger = logging.getLogger(__name__)

Method = Callable[[Call], Result | Progress | Subscription]


@dataclass(frozen=True, slots=True)
class Answer:
    """A JSON-RPC response, and how it goes out."""

    message: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


ACCEPTED = Answer(b"", 202)
"""What a notification gets. Source: basic/transports/streamable-http, "Sending Messages"."""

Answering = Generator[bytes | None, None, Answer]
"""As `Progress`, but what it ends with is an answer, whatever goes wrong."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A call that is being answered."""

    answering: Answering
    token: RequestId | None
    """What the client wants its progress reported under, if it does."""


class Dispatch:
    """Finds the method that a message asks for, and answers with what it gives or raises."""

    def __init__(
        self,
        methods: Mapping[str, Method],
        server_info: Mapping[str, str],
        admit: Callable[[Call], None],
        count_limit: Callable[[str], None],
    ) -> None:
        """`admit` raises when this caller may not make this call, or not now; `count_limit` hears of reached limits."""
        self._methods = methods
        self._server_info = server_info
        self._admit = admit
        self._count_limit = count_limit

    def answer(self, body: object, caller: Caller, header: HeaderLookup) -> Answer | Waiting | Subscription:
        """What the client gets; nothing that it sends raises here."""
        request_id = readable_id(body)
        method = "?"
        try:
            message = message_of(body)
            if message.id is None:
                return ACCEPTED  # nothing is executed for a message that could not be answered
            method = message.method
            return self._served(message, message.id, caller, header)
        except Exception as fault:  # noqa: BLE001 - a client must not meet an exception that nobody thought of
            return self.refused(fault, method, request_id)

    def refused(self, fault: Exception, method: str = "?", request_id: RequestId | None = None) -> Answer:
        """The error that answers this exception; the log has one line about it."""
        refusal = refusal_of(fault)
        if isinstance(fault, LimitReached):
            self._count_limit(fault.limit)
        shown = method if method in self._methods else "?"
        if refusal is None:
            incident = secrets.token_hex(6)
            refusal = Refusal(INTERNAL_ERROR, f"Internal error; the server's log has more under {incident}", 200)
            logger.error("%s failed, incident %s: %s at %s", shown, incident, type(fault).__name__, places_of(fault))
        else:
            logger.warning("%s refused: %s %s", shown, refusal.code, type(fault).__name__)
        return Answer(error_message(request_id, refusal), refusal.status, refusal.headers)

    def _served(
        self, message: Message, request_id: RequestId, caller: Caller, header: HeaderLookup
    ) -> Answer | Waiting | Subscription:
        request = request_of(message, request_id, header)
        method = self._methods.get(request.method)
        if method is None:
            raise MethodNotFound(f"No such method; this server speaks MCP {', '.join(SUPPORTED_VERSIONS)}")
        call = Call(request, caller, header)
        self._admit(call)
        token = request.progress_token
        reply = method(call)
        if isinstance(reply, Subscription):
            return reply
        if not isinstance(reply, Generator):
            return Answer(result_message(request_id, reply, self._server_info))
        return self._begun(self._answering(reply, request.method, request_id), token)

    def _begun(self, answering: Answering, token: RequestId | None) -> Answer | Waiting:
        """The wait, once it is one: what fails before has a status of its own and needs no stream."""
        try:
            next(answering)
        except StopIteration as end:
            answer: Answer = end.value
            return answer
        return Waiting(answering, token)

    def _answering(self, progress: Progress, method: str, request_id: RequestId) -> Answering:
        try:
            result = yield from progress
            return Answer(result_message(request_id, result, self._server_info))
        except Exception as fault:  # noqa: BLE001 - as above, for what fails during the wait
            return self.refused(fault, method, request_id)
