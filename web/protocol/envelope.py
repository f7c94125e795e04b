"""Parse the envelope of a request: JSON-RPC, `_meta`, and the headers that mirror the body.

Pure: no I/O, no Flask.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeGuard

from coatcheck.web.errors import HeaderMismatch, InvalidMessage, InvalidParams, UnsupportedVersion
from coatcheck.web.protocol.headers import METHOD_HEADER, NAME_HEADER, VERSION_HEADER, check_mirrors, trimmed

SUPPORTED_VERSIONS: Final = ("2026-07-28",)
"""The current revisions of MCP; legacy ones are in `web/legacy/`."""

TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"
PROTOCOL_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO: Final = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
IDEMPOTENCY_KEY: Final = "io.coatcheck/idempotencyKey"
"""In `_meta` of a `tools/call`: the caller's name for the call, so that a repeat creates no second task."""

IDEMPOTENCY_EXTENSION: Final = "io.coatcheck/idempotency"
"""Advertises in `server/discover` that the key is honoured."""

MAX_IDEMPOTENCY_KEY: Final = 256
"""Characters."""

TRACE_FIELDS: Final = ("traceparent", "tracestate", "baggage")
"""Members of `_meta` with the trace context. Source: basic/index, "OpenTelemetry Trace Context"."""

MAX_TRACE_FIELD: Final = 8192
"""Characters; a longer field is dropped. Source: W3C Baggage, "Limits"."""

NAMED_BY: Final[Mapping[str, str]] = {
    "tools/call": "name",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}
"""Method → the parameter that `Mcp-Name` mirrors."""

TASK_METHODS: Final = frozenset({"tasks/get", "tasks/update", "tasks/cancel"})
"""Served without `Mcp-Name` unless it is required, because official clients do not send it: see docs/choices.md."""

RequestId = str | int

HeaderLookup = Callable[[str], str | None]
"""Returns the value of a header, ignoring the case of its name; None when it was not sent."""


@dataclass(frozen=True, slots=True)
class JsonRpcMessage:
    """A JSON-RPC request, or a notification, which has no id."""

    id: RequestId | None
    method: str
    params: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Request:
    """A request with a valid envelope."""

    id: RequestId
    method: str
    params: Mapping[str, object]
    meta: Mapping[str, object]
    capabilities: Mapping[str, object]
    """What the client declared on this request; nothing is remembered from an earlier one."""
    name: str = ""
    """The parameter that `Mcp-Name` mirrors, for a method that has one."""
    lacks_name: bool = False
    """The request was served without the `Mcp-Name` that its method has."""

    @property
    def client_name(self) -> str:
        """The client's name, or an empty string."""
        info = self.meta.get(CLIENT_INFO)
        name = info.get("name") if isinstance(info, dict) else None
        return name if isinstance(name, str) else ""

    @property
    def declares_tasks(self) -> bool:
        """Tell whether the client supports tasks.

        Source: ext-tasks, tasks.md, "Capability Negotiation".
        """
        extensions = self.capabilities.get("extensions")
        return isinstance(extensions, dict) and isinstance(extensions.get(TASKS_EXTENSION), dict)

    @property
    def progress_token(self) -> RequestId | None:
        """The token of progress notifications; None when the client wants none.

        Raises:
            InvalidParams: it is neither a string nor an integer.
        """
        token = self.meta.get("progressToken")
        if token is None or _is_id(token):
            return token
        raise InvalidParams("_meta.progressToken is a string or an integer")

    @property
    def idempotency_key(self) -> str:
        """The caller's name for this call, or an empty string.

        Raises:
            InvalidParams: it is there and cannot be used.
        """
        if IDEMPOTENCY_KEY not in self.meta:
            return ""
        key = self.meta[IDEMPOTENCY_KEY]
        if not isinstance(key, str) or not 1 <= len(key) <= MAX_IDEMPOTENCY_KEY:
            raise InvalidParams(f"_meta[{IDEMPOTENCY_KEY!r}] is a string of 1 to {MAX_IDEMPOTENCY_KEY} characters")
        return key

    @property
    def trace(self) -> dict[str, str]:
        """The trace context of the caller; fields that were not sent are left out."""
        fields = {name: self.meta.get(name) for name in TRACE_FIELDS}
        return {name: text for name, text in fields.items() if isinstance(text, str) and len(text) <= MAX_TRACE_FIELD}


def readable_id(body: object) -> RequestId | None:
    """Return the id to respond with, even if the rest of the body is invalid; None when there is no valid id."""
    found = body.get("id") if isinstance(body, dict) else None
    return found if _is_id(found) else None


def message_of(body: object) -> JsonRpcMessage:
    """Return the JSON-RPC message in a body.

    Raises:
        InvalidMessage: a batch, a response, or anything else that is not a request or a notification.

    Source: basic/index, "Requests" and "Notifications".
    """
    if isinstance(body, list):
        raise InvalidMessage("Batches are not part of this protocol; send one message per POST")
    if not isinstance(body, dict):
        raise InvalidMessage("The body is not a JSON object")
    if body.get("jsonrpc") != "2.0":
        raise InvalidMessage('jsonrpc is "2.0"')
    if "id" in body and not _is_id(body["id"]):
        raise InvalidMessage("id is a string or an integer")
    method = body.get("method")
    if not isinstance(method, str):
        raise InvalidMessage("method is a string; responses are not taken here")
    params = body.get("params", {})
    if not isinstance(params, dict):
        raise InvalidMessage("params is an object")
    return JsonRpcMessage(body.get("id"), method, params)


def request_of(
    message: JsonRpcMessage,
    request_id: RequestId,
    header: HeaderLookup,
    legacy_revisions: Sequence[str] = (),
    *,
    requires_task_name: bool = False,
) -> Request:
    """Check a message against the headers and `_meta` of this revision, and return the request.

    `legacy_revisions` are named to clients of an unsupported version. `requires_task_name` refuses task methods without
    `Mcp-Name`.

    Raises:
        UnsupportedVersion: the client speaks another revision, or sends `initialize`.
        HeaderMismatch: a mirroring header is missing or differs.
        InvalidParams: `_meta` lacks what every request must carry, or the name that a header mirrors is no string.

    Source: basic/index, "Meta"; basic/transports/streamable-http, "Request Metadata"; basic/versioning.
    """
    meta = message.params.get("_meta", {})
    if not isinstance(meta, dict):
        raise InvalidParams("_meta is an object")
    _check_version(message, meta, header, legacy_revisions)
    check_mirrors(METHOD_HEADER, message.method, header(METHOD_HEADER))
    capabilities = meta.get(CLIENT_CAPABILITIES)
    if not isinstance(capabilities, dict):
        raise InvalidParams(f"_meta[{CLIENT_CAPABILITIES!r}] is required and is an object")
    named_by = NAMED_BY.get(message.method)
    if named_by is None:
        return Request(request_id, message.method, message.params, meta, capabilities)
    name = message.params.get(named_by)
    if not isinstance(name, str):
        raise InvalidParams(f"{named_by} is required and is a string")
    sent = header(NAME_HEADER)
    lacks_name = sent is None and message.method in TASK_METHODS and not requires_task_name
    if not lacks_name:
        check_mirrors(NAME_HEADER, name, sent, may_be_encoded=True)
    return Request(request_id, message.method, message.params, meta, capabilities, name, lacks_name)


def _check_version(
    message: JsonRpcMessage, meta: Mapping[str, object], header: HeaderLookup, legacy_revisions: Sequence[str]
) -> None:
    # A message in the current form gets the current revisions alone, as from server/discover: another would be refused.
    every = (*SUPPORTED_VERSIONS, *legacy_revisions)
    declared = meta.get(PROTOCOL_VERSION)
    sent = header(VERSION_HEADER)
    if declared is None and message.method == "initialize":
        # A legacy client has no other way to learn which revisions are supported.
        raise UnsupportedVersion(_text(message.params.get("protocolVersion")), every)
    if sent is None:
        raise HeaderMismatch(
            f"The header {VERSION_HEADER} is required; this server speaks {', '.join(SUPPORTED_VERSIONS)}"
        )
    if declared is None and trimmed(sent) not in SUPPORTED_VERSIONS:
        raise UnsupportedVersion(trimmed(sent), every)
    if not isinstance(declared, str):
        raise InvalidParams(f"_meta[{PROTOCOL_VERSION!r}] is required and is a string")
    check_mirrors(VERSION_HEADER, declared, sent)
    if declared not in SUPPORTED_VERSIONS:
        raise UnsupportedVersion(declared, SUPPORTED_VERSIONS)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _is_id(value: object) -> TypeGuard[RequestId]:
    return isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool))
