"""Dispatch a message of the current revision to its method, and serialize the result or the error."""

from collections.abc import Callable, Collection, Generator, Mapping, Sequence

from coatcheck.web.errors import MethodNotFound
from coatcheck.web.protocol.call import Call
from coatcheck.web.protocol.caller import Caller
from coatcheck.web.protocol.envelope import (
    SUPPORTED_VERSIONS,
    HeaderLookup,
    JsonRpcMessage,
    RequestId,
    message_of,
    readable_id,
    request_of,
)
from coatcheck.web.protocol.response import ACCEPTED, Reply, ResponseGenerator, RpcResponse, begin_response
from coatcheck.web.protocol.serialization import Result, error_message, result_message
from coatcheck.web.rpc.error_responses import ErrorResponses
from coatcheck.web.rpc.progress_notifications import ProgressNotifications
from coatcheck.web.streams.waiting import Progress, Stream

Method = Callable[[Call], Result | Progress | Stream]


class MethodDispatcher:
    """The protocol handler of the current revision."""

    def __init__(
        self,
        methods: Mapping[str, Method],
        server_info: Mapping[str, str],
        admit: Callable[[Call], None],
        count_limit: Callable[[str], None],
        legacy_revisions: Sequence[str] = (),
        *,
        requires_task_name: bool = False,
        count_nameless: Callable[[str], None] = lambda client: None,
    ) -> None:
        """`admit` raises when the caller cannot make the call now. `count_limit` is called with each limit that is
        reached. `legacy_revisions` are named to clients of an unsupported version. `requires_task_name` is that of
        `request_of`; `count_nameless` is called with the name of a client that sent no `Mcp-Name` where it is not
        required."""
        self._methods = methods
        self._server_info = server_info
        self._admit = admit
        self._refusals = ErrorResponses(methods, count_limit)
        self._legacy_revisions = legacy_revisions
        self._requires_task_name = requires_task_name
        self._count_nameless = count_nameless
        self.methods: Collection[str] = frozenset(methods)

    def accepts(self, _body: object, _header: HeaderLookup) -> bool:
        """Return True: a message that no other handler accepts is handled as one of the current revision."""
        return True

    def handle(self, body: object, caller: Caller, header: HeaderLookup) -> Reply:
        """Handle the message and return its reply. Does not raise for anything that a client sends."""
        request_id = readable_id(body)
        method = "?"
        try:
            message = message_of(body)
            if message.id is None:
                return ACCEPTED  # nothing is executed for a message that could not be answered
            method = message.method
            return self._served(message, message.id, caller, header)
        except Exception as fault:  # noqa: BLE001 - no client receives an unexpected exception
            return self.refused(fault, method, request_id)

    def refused(self, fault: Exception, method: str = "?", request_id: RequestId | None = None) -> RpcResponse:
        """Return the error response for an exception, and log one line about it."""
        refusal = self._refusals.of(fault, method)
        return RpcResponse(error_message(request_id, refusal), refusal.status, refusal.headers)

    def _served(self, message: JsonRpcMessage, request_id: RequestId, caller: Caller, header: HeaderLookup) -> Reply:
        request = request_of(
            message, request_id, header, self._legacy_revisions, requires_task_name=self._requires_task_name
        )
        method = self._methods.get(request.method)
        if method is None:
            raise MethodNotFound(f"No such method; this server speaks MCP {', '.join(SUPPORTED_VERSIONS)}")
        call = Call(request, caller, header)
        self._admit(call)
        if request.lacks_name:
            self._count_nameless(request.client_name)
        token = request.progress_token
        reply = method(call)
        if isinstance(reply, Generator):
            answering = self._answering(ProgressNotifications(token).wrap(reply), request.method, request_id)
            return begin_response(answering, is_streamed=token is not None)
        if isinstance(reply, Stream):
            return begin_response(
                self._answering(reply.messages, request.method, request_id), is_streamed=True, keeps_request=False
            )
        return RpcResponse(result_message(request_id, reply, self._server_info))

    def _answering(self, progress: Progress, method: str, request_id: RequestId) -> ResponseGenerator:
        try:
            result = yield from progress
            return RpcResponse(result_message(request_id, result, self._server_info))
        except Exception as fault:  # noqa: BLE001 - as above, for what fails during the wait
            return self.refused(fault, method, request_id)
