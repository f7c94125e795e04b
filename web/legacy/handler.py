"""Handle the messages of legacy revisions."""

from collections.abc import Callable, Collection, Generator, Mapping
from dataclasses import dataclass
from typing import Final

from coatcheck.web.access.access_policy import AccessPolicy
from coatcheck.web.errors import InvalidMessage, InvalidParams, MethodNotFound
from coatcheck.web.legacy.client_responses import ClientResponses, is_response
from coatcheck.web.legacy.lifecycle import Lifecycle
from coatcheck.web.legacy.request import LegacyRequest
from coatcheck.web.legacy.responses import LegacyResponses, LegacyResult, LegacyWait
from coatcheck.web.legacy.revisions import Revision
from coatcheck.web.legacy.selection import INITIALIZE, revision_of
from coatcheck.web.legacy.tasks import LegacyTasks
from coatcheck.web.legacy.tools import LegacyTools
from coatcheck.web.methods.tools import ListTools
from coatcheck.web.protocol.call import Call
from coatcheck.web.protocol.caller import Caller
from coatcheck.web.protocol.envelope import HeaderLookup, Request, RequestId, message_of, readable_id
from coatcheck.web.protocol.request_guard import accepted_types
from coatcheck.web.protocol.response import (
    ACCEPTED,
    PendingResponse,
    Reply,
    ResponseGenerator,
    RpcResponse,
    begin_response,
)
from coatcheck.web.settings.web import ServerSettings
from coatcheck.web.streams.connections import Connections
from coatcheck.web.tool_calls.calls import Calls
from coatcheck.workers.toolkit.tool import Catalogue

Serve = Callable[[LegacyRequest], LegacyResult | LegacyWait]

NOTIFICATIONS: Final = frozenset(
    f"notifications/{what}" for what in ("initialized", "cancelled", "progress", "roots/list_changed", "tasks/status")
)
"""Notifications that legacy clients can send. Source: 2025-11-25, schema, ClientNotification."""

MAX_BATCH_MESSAGES: Final = 50
"""Messages of one batch; they are processed one after the other."""


@dataclass(frozen=True, slots=True)
class LegacyMethod:
    """A method of the legacy revisions."""

    serve: Serve
    current: str
    """The current method with the same effect, or the nearest one; its scopes are required."""
    is_of_tasks: bool = False
    """The method exists only in revisions with tasks."""


@dataclass(frozen=True, slots=True)
class MessageContext:
    """What all messages of one HTTP request have in common."""

    revision: Revision
    caller: Caller
    header: HeaderLookup
    takes_events: bool


class LegacyHandler:
    """The protocol handler of the legacy revisions. Clients connect by `initialize`; no session is kept.

    Source: revisions 2025-11-25, 2025-06-18 and 2025-03-26.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        settings: ServerSettings,
        connections: Callable[[], Connections],
        access_policy: AccessPolicy,
        calls: Calls,
        lists: ListTools,
        count_limit: Callable[[str], None],
    ) -> None:
        self._admit = access_policy.admit
        self._responses = ClientResponses(connections, calls.jobs, access_policy.scopes)
        # Without authentication all callers are one owner; tasks are listed only if they are all on this machine.
        lists_tasks = settings.auth.mode != "none" or not settings.auth.allow_anonymous
        lifecycle = Lifecycle(settings, lists_tasks=lists_tasks)
        tools = LegacyTools(catalogue, settings, lists, calls)
        self._methods: dict[str, LegacyMethod] = {}
        self._replies = LegacyResponses(self._methods, count_limit)
        tasks = LegacyTasks(catalogue, settings, connections, calls, access_policy)
        self._methods |= {
            INITIALIZE: LegacyMethod(lifecycle.initialize, "server/discover"),
            "ping": LegacyMethod(lifecycle.ping, "server/discover"),
            "logging/setLevel": LegacyMethod(lifecycle.set_level, "server/discover"),
            "tools/list": LegacyMethod(tools.list, "tools/list"),
            "tools/call": LegacyMethod(tools.call, "tools/call"),
            "tasks/get": LegacyMethod(tasks.get, "tasks/get", is_of_tasks=True),
            "tasks/result": LegacyMethod(tasks.result, "tasks/get", is_of_tasks=True),
            "tasks/cancel": LegacyMethod(tasks.cancel, "tasks/cancel", is_of_tasks=True),
        }
        if lists_tasks:
            self._methods["tasks/list"] = LegacyMethod(tasks.list, "tasks/get", is_of_tasks=True)
        self.methods: Collection[str] = NOTIFICATIONS | self._methods.keys()

    def accepts(self, body: object, header: HeaderLookup) -> bool:
        """Tell whether the message is of a legacy revision."""
        return revision_of(body, header) is not None

    def handle(self, body: object, caller: Caller, header: HeaderLookup) -> Reply:
        """Handle the message and return its reply. Does not raise for anything that a client sends."""
        revision = revision_of(body, header)
        assert revision is not None
        sent = MessageContext(revision, caller, header, accepted_types(header("Accept") or "").event_stream)
        if not isinstance(body, list):
            return self._one(body, sent)
        if fault := _fault_of_batch(body, revision):
            return self._replies.refused(InvalidMessage(fault))
        return begin_response(self._each(body, sent), is_streamed=sent.takes_events)

    def _each(self, messages: list[object], sent: MessageContext) -> ResponseGenerator:
        """Handle a batch, and return the responses as one array. Source: 2025-03-26, basic/transports, "Sending
        Messages to the Server"."""
        parts = []
        for message in messages:
            reply = self._one(message, sent)
            if isinstance(reply, PendingResponse):
                yield None
                reply = yield from reply.answering
            assert isinstance(reply, RpcResponse)
            if reply.message:
                parts.append(reply.message)
        return RpcResponse(b"[" + b",".join(parts) + b"]") if parts else ACCEPTED

    def _one(self, body: object, sent: MessageContext) -> Reply:
        request_id = readable_id(body)
        method = "?"
        try:
            if isinstance(body, Mapping) and is_response(body):
                call = _call(sent, Request("", "tasks/update", {}, {}, {}))
                self._admit(call)
                self._responses.take(body, call)
                return ACCEPTED
            message = message_of(body)
            if message.id is None:
                return ACCEPTED  # notifications have no effect
            method = message.method
            return self._served(message.method, message.params, message.id, sent)
        except Exception as fault:  # noqa: BLE001 - no client receives an unexpected exception
            return self._replies.refused(fault, method, request_id)

    def _served(self, method: str, params: Mapping[str, object], request_id: RequestId, sent: MessageContext) -> Reply:
        revision = sent.revision
        entry = self._methods.get(method)
        if entry is None or (entry.is_of_tasks and not revision.has_tasks):
            raise MethodNotFound(f"No such method is served to clients of {revision.name}")
        meta = params.get("_meta", {})
        if not isinstance(meta, Mapping):
            raise InvalidParams("_meta is an object")
        call = _call(sent, Request(request_id, entry.current, params, meta, revision.capabilities))
        self._admit(call)
        token = call.request.progress_token
        reply = entry.serve(LegacyRequest(request_id, method, call, revision, sent.takes_events, token))
        if isinstance(reply, Generator):
            return begin_response(self._answering(reply, method, request_id), is_streamed=sent.takes_events)
        return self._replies.result(request_id, reply)

    def _answering(self, wait: LegacyWait, method: str, request_id: RequestId) -> ResponseGenerator:
        try:
            result = yield from wait
            return self._replies.result(request_id, result)
        except Exception as fault:  # noqa: BLE001 - as above, for what fails during the wait
            return self._replies.refused(fault, method, request_id)


def _call(sent: MessageContext, request: Request) -> Call:
    return Call(request, sent.caller, sent.header)


def _fault_of_batch(messages: list[object], revision: Revision) -> str:
    """Return why the batch is invalid, or an empty string. Source: 2025-03-26, basic/lifecycle, "Initialization"."""
    if not revision.has_batches:
        return f"Batches are not part of {revision.name}; send one message per POST"
    if not 1 <= len(messages) <= MAX_BATCH_MESSAGES:
        return f"A batch has 1 to {MAX_BATCH_MESSAGES} messages"
    if any(isinstance(message, Mapping) and message.get("method") == INITIALIZE for message in messages):
        return "initialize is not part of a batch"
    return ""
