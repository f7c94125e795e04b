"""What a client is told when something cannot be done, and the one table that says how."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tasks_store import CallConflict, StoreRefused, StoreUnavailable, TaskNotFound
from workers.errors import BrokerUnavailable

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
HEADER_MISMATCH: Final = -32020
"""Source: basic/transports/streamable-http, "Server Validation"."""
MISSING_CAPABILITY: Final = -32021
"""Source: schema, MissingRequiredClientCapabilityError."""
UNSUPPORTED_VERSION: Final = -32022
"""Source: schema, UnsupportedProtocolVersionError."""


class WebError(Exception):
    """The root of every error that this folder raises on purpose. Its message is for the client."""

    data: Mapping[str, object] | None = None
    """Goes along as the `data` of the JSON-RPC error."""


class MalformedJson(WebError):
    """The body is not one JSON text that every reader reads the same way."""


class InvalidMessage(WebError):
    """The body is not one JSON-RPC request or notification."""


class MethodNotFound(WebError):
    """No such method is served."""


class InvalidParams(WebError):
    """The parameters of the request cannot be used."""


class HeaderMismatch(WebError):
    """A header that mirrors the body is missing, malformed or says something else."""


class MissingCapability(WebError):
    """The client did not declare what the request needs."""

    def __init__(self, required: Mapping[str, object]) -> None:
        super().__init__(f"The client must declare the capability {_path(required)} on this request")
        self.data = {"requiredCapabilities": required}


class UnsupportedVersion(WebError):
    """The client speaks a revision of the protocol that is not served."""

    def __init__(self, requested: str, supported: tuple[str, ...]) -> None:
        super().__init__(f"Unsupported protocol version; this server speaks {', '.join(supported)}")
        self.data = {"supported": list(supported), "requested": requested}


class CallFailed(WebError):
    """The tool's job ended with a JSON-RPC error of its own."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.author_data = data


class Forbidden(WebError):
    """The request came for a host or from a web page that this server does not know."""


class MethodNotAllowed(WebError):
    """The endpoint takes POST only."""


class NotAcceptable(WebError):
    """The client takes no content type that the answer can have."""


class UnsupportedMediaType(WebError):
    """The body is not declared to be JSON."""


class BodyTooLarge(WebError):
    """The body is larger than the limit."""


class BodyTooSlow(WebError):
    """The body did not arrive whole, or not in time."""


class TooManyWaiting(WebError):
    """So many calls wait for their jobs in this process that other requests would find no thread."""


class InvalidSettings(WebError):
    """The environment does not say how to run; every fault names its variable."""


class Row(NamedTuple):
    """How one kind of exception is answered."""

    code: int
    status: int
    words: str = ""
    """What is said instead of the exception's own message."""
    retry_after_s: int | None = None


AWAY_S: Final = 2
"""After how many seconds a client may try again when the store or the broker is away."""

TABLE: Final[Mapping[type[Exception], Row]] = {
    MalformedJson: Row(PARSE_ERROR, 400),
    InvalidMessage: Row(INVALID_REQUEST, 400),
    MethodNotFound: Row(METHOD_NOT_FOUND, 404),
    InvalidParams: Row(INVALID_PARAMS, 400),
    HeaderMismatch: Row(HEADER_MISMATCH, 400),
    MissingCapability: Row(MISSING_CAPABILITY, 400),
    UnsupportedVersion: Row(UNSUPPORTED_VERSION, 400),
    TaskNotFound: Row(INVALID_PARAMS, 400, "No task with this id"),
    CallConflict: Row(INVALID_PARAMS, 400, "The idempotency key was used for another tool or other arguments"),
    Forbidden: Row(INVALID_REQUEST, 403),
    MethodNotAllowed: Row(INVALID_REQUEST, 405),
    NotAcceptable: Row(INVALID_REQUEST, 406),
    BodyTooSlow: Row(INVALID_REQUEST, 408),
    BodyTooLarge: Row(INVALID_REQUEST, 413),
    UnsupportedMediaType: Row(INVALID_REQUEST, 415),
    TooManyWaiting: Row(INTERNAL_ERROR, 503, retry_after_s=AWAY_S),
    StoreUnavailable: Row(INTERNAL_ERROR, 503, "The task store does not answer", AWAY_S),
    StoreRefused: Row(INTERNAL_ERROR, 503, "The task store takes no writes now", AWAY_S),
    BrokerUnavailable: Row(INTERNAL_ERROR, 503, "The message broker does not answer", AWAY_S),
}
"""Exception → JSON-RPC code → HTTP status. What is not here is an incident of ours.

Source: basic/transports/streamable-http, "Sending Messages" and "Server Validation".
"""

STATUS_OF_AUTHORS_CODE: Final[Mapping[int, int]] = {
    row.code: row.status for row in TABLE.values() if row.status in (400, 404)
}
"""HTTP status of a JSON-RPC error that a tool's author raised; any other code is answered with 200."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A JSON-RPC error with the HTTP status that it goes out with."""

    code: int
    message: str
    status: int
    data: object = None
    headers: Mapping[str, str] = field(default_factory=dict)


def refusal_of(fault: Exception) -> Refusal | None:
    """How this exception is answered, or None when it is not one that a client may hear of."""
    if isinstance(fault, CallFailed):
        return Refusal(fault.code, str(fault), STATUS_OF_AUTHORS_CODE.get(fault.code, 200), fault.author_data)
    row = TABLE.get(type(fault))
    if row is None:
        return None
    headers = {} if row.retry_after_s is None else {"Retry-After": str(row.retry_after_s)}
    if isinstance(fault, MethodNotAllowed):
        headers["Allow"] = "POST"
    data = fault.data if isinstance(fault, WebError) else None
    return Refusal(row.code, row.words or str(fault), row.status, data, headers)


def _path(capability: Mapping[str, object]) -> str:
    """`{"elicitation": {"form": {}}}` as `elicitation.form`."""
    parts = []
    inner: object = capability
    while isinstance(inner, Mapping) and inner:
        name, inner = next(iter(inner.items()))
        parts.append(name)
    return ".".join(parts)
