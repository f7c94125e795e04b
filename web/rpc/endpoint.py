"""The MCP endpoint: one message per POST.

Source: basic/transports/streamable-http.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from flask import Request, Response

from coatcheck.web.errors import MethodNotAllowed, TooManyWaiting
from coatcheck.web.protocol.caller import Caller
from coatcheck.web.protocol.envelope import readable_id
from coatcheck.web.protocol.headers import header_lookup
from coatcheck.web.protocol.json_body import read_json
from coatcheck.web.protocol.request_guard import (
    EVENT_STREAM_TYPE,
    JSON_TYPE,
    AcceptedTypes,
    RequestGuard,
    accepted_types,
    check_content_type,
)
from coatcheck.web.protocol.response import PendingResponse, ProtocolHandler, RpcResponse
from coatcheck.web.protocol.sse import EVENT_STREAM_HEADERS, sse_event
from coatcheck.web.rpc.dispatch import MethodDispatcher
from coatcheck.web.rpc.observation import METHOD_KEY, observed
from coatcheck.web.server.body import SOCKET_KEY, BodyReader
from coatcheck.web.server.memory_limit import LargeRequestLimit, MemoryLimit, WaitingBodyLimit
from coatcheck.web.server.threads import LARGE_BODY_BYTES, compute, is_large_request
from coatcheck.web.streams.client_connection import ClientConnection, event_stream, wait_for_response
from coatcheck.web.streams.waiting import WAKE

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

ENDPOINT_PATHS = ("/mcp", "/mcp/")
"""Both are served alike: a redirect loses the body of a POST."""

CLIENT_LEFT = 499
"""Status of a response whose client has disconnected. Only the access log shows it; nginx uses the same."""

PREFLIGHT_HEADERS = {
    "Access-Control-Allow-Methods": "POST",
    "Access-Control-Max-Age": "600",
    "Vary": "Origin, Access-Control-Request-Headers",
}


EXPOSED_HEADERS = "Retry-After, WWW-Authenticate"
"""Response headers that a web page can read in addition to the default ones."""


class WholeResponse(Response):
    """A complete response that skips Werkzeug's processing."""

    def __init__(self, answer: RpcResponse, memory: MemoryLimit) -> None:
        super().__init__(answer.message, answer.status, answer.headers, mimetype=JSON_TYPE)
        self._memory = memory

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        """Send head and body."""
        if environ["REQUEST_METHOD"] == "HEAD":
            return super().__call__(environ, start_response)
        start_response(self.status, self.headers.to_wsgi_list())
        data = self.data
        return (data,) if len(data) <= LARGE_BODY_BYTES else self._memory.whole(data)


class Endpoint:
    """The view of the MCP endpoint. A message that no legacy handler accepts goes to the dispatcher."""

    def __init__(
        self,
        dispatcher: MethodDispatcher,
        legacy_handlers: Sequence[ProtocolHandler],
        guard: RequestGuard,
        authenticate: Callable[[Request], Caller],
        bodies: BodyReader,
        memory: MemoryLimit,
    ) -> None:
        self._dispatcher = dispatcher
        self._legacy_handlers = legacy_handlers
        self._guard = guard
        self._authenticate = authenticate
        self._bodies = bodies
        self._memory = memory
        self._waiting_bodies = WaitingBodyLimit()
        self._large_requests = LargeRequestLimit(memory)

    def __call__(self, request: Request) -> Response:
        """Answer the request; errors become responses."""
        with ExitStack() as slot:
            response = self._answered(request, slot)
        self._tell_browser(request, response)
        return response

    def _answered(self, request: Request, slot: ExitStack) -> Response:
        try:
            self._guard.check(request)
            if request.method == "OPTIONS" and (origin := self._guard.preflight_origin(request)) is not None:
                return _preflight(origin, request)
            caller = self._authenticate(request)
            if request.method != "POST":
                raise MethodNotAllowed("This endpoint takes POST only")
            forms = accepted_types(request.environ.get("HTTP_ACCEPT", ""))
            check_content_type(request)
            body, size = self._body(request, slot)
        except Exception as fault:  # noqa: BLE001 - as in the dispatcher
            self._bodies.discard(request, fault)
            return self._response(self._dispatcher.refused(fault), AcceptedTypes(json=True, event_stream=False))
        header = header_lookup(request.environ)
        accepting = (handler for handler in self._legacy_handlers if handler.accepts(body, header))
        handler = next(accepting, self._dispatcher)
        if (method := _served_method(body, handler)) is not None:
            request.environ[METHOD_KEY] = method
        WAKE.set(None)
        reply = observed(body, partial(handler.handle, body, caller, header))
        if isinstance(reply, RpcResponse):
            return self._response(reply, forms)
        try:
            answering = self._waiting_bodies.hold(reply.answering, size if reply.keeps_request else 0)
        except TooManyWaiting as fault:
            reply.answering.close()
            return self._response(self._dispatcher.refused(fault, method or "?", readable_id(body)), forms)
        del body
        slot.close()
        return self._pending(request, replace(reply, answering=answering), forms)

    def _body(self, request: Request, slot: ExitStack) -> tuple[object, int]:
        """Return the parsed body and its size in bytes; a large one is parsed in a slot, which is kept."""
        sent = self._bodies.read(request)
        size = len(sent)
        is_large_request.set(size > LARGE_BODY_BYTES)
        if size > LARGE_BODY_BYTES:
            slot.enter_context(self._large_requests.slot(size))
        return compute(read_json, sent), size

    def _pending(self, request: Request, reply: PendingResponse, forms: AcceptedTypes) -> Response:
        """Return a stream, or wait for the response."""
        client = ClientConnection(request.environ.get(SOCKET_KEY))
        if reply.is_streamed and forms.event_stream:
            events = event_stream(reply.answering, client, self._memory)
            return Response(events, mimetype=EVENT_STREAM_TYPE, headers=EVENT_STREAM_HEADERS)
        whole = wait_for_response(reply.answering, client)
        return Response(status=CLIENT_LEFT) if whole is None else self._response(whole, forms)

    def _response(self, answer: RpcResponse, forms: AcceptedTypes) -> Response:
        """Return a result in a type that the client accepts, and an error as JSON."""
        if answer.message and answer.status == 200 and not forms.json:
            events = self._memory.chunks(sse_event(answer.message))
            return Response(events, mimetype=EVENT_STREAM_TYPE, headers=EVENT_STREAM_HEADERS)
        response = WholeResponse(answer, self._memory)
        if not answer.message:
            del response.headers["Content-Type"]
        return response

    def _tell_browser(self, request: Request, response: Response) -> None:
        """Add the CORS headers for a page that can call this server."""
        if (origin := self._guard.preflight_origin(request)) is not None and "Origin" not in response.vary:
            response.headers["Access-Control-Allow-Origin"] = origin
            response.headers["Access-Control-Expose-Headers"] = EXPOSED_HEADERS
            response.vary.add("Origin")


def _served_method(body: object, handler: ProtocolHandler) -> str | None:
    """Return the message's method if the handler serves it: no other name can become a label of a metric."""
    method = body.get("method") if isinstance(body, dict) else None
    return method if isinstance(method, str) and method in handler.methods else None


def _preflight(origin: str, request: Request) -> Response:
    """Return the response to a CORS preflight request."""
    response = Response(status=204, headers=PREFLIGHT_HEADERS)
    del response.headers["Content-Type"]
    response.headers["Access-Control-Allow-Origin"] = origin
    if asked := request.headers.get("Access-Control-Request-Headers"):
        response.headers["Access-Control-Allow-Headers"] = asked
    return response
