"""What a client is told when something cannot be done, and the one table that says how."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

from coatcheck.tasks_store import (
    CallConflict,
    StoreForbidden,
    StoreRefused,
    StoreUnavailable,
    TaskNotFound,
    WriteUnconfirmed,
)
from coatcheck.workers.toolkit.errors import BrokerUnavailable

CANNOT_START: Final = 4
"""gunicorn's own exit code for an application that cannot be loaded: its master gives up instead of trying for ever."""

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
UNAUTHENTICATED: Final = 401
"""Ours, as the next two: the HTTP status, which lies outside the codes that JSON-RPC reserves."""
FORBIDDEN: Final = 403
LIMIT_REACHED: Final = 429

RETRY_AFTER_S: Final = 2
"""After how many seconds a client may try again when the store, the broker or the issuer is away."""


class WebError(Exception):
    """The root of every error that this folder raises on purpose. Its message is for the client."""

    data: Mapping[str, object] | None = None
    """Goes along as the `data` of the JSON-RPC error."""
    headers: Mapping[str, str] = MappingProxyType({})
    """Go along as headers of the response."""


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


class MissingClientCapability(WebError):
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


class RequestForbidden(WebError):
    """The request came for a host or from a web page that this server does not know."""


class Unauthenticated(WebError):
    """The request does not prove whom it acts for; `challenge` says what would."""

    def __init__(self, why: str, challenge: str) -> None:
        super().__init__(why)
        self.headers = {"WWW-Authenticate": challenge}


class InsufficientScope(WebError):
    """The caller is known and may not do this; `needed` is all that it takes."""

    def __init__(self, needed: Sequence[str], challenge: str) -> None:
        super().__init__(f"This needs the scopes: {' '.join(needed)}")
        self.data = {"scopes": list(needed)}
        self.headers = {"WWW-Authenticate": challenge}


class IssuerUnavailable(WebError):
    """Whether a token is good cannot be known, because its issuer does not tell its keys."""

    def __init__(self, why: str, retry_after_s: float = RETRY_AFTER_S) -> None:
        super().__init__(why)
        self.headers = _retry_after(retry_after_s)


class LimitReached(WebError):
    """Somebody asked for more than they may have at a time."""

    def __init__(self, limit: str, what: str, retry_after_s: float) -> None:
        super().__init__(what)
        self.limit = limit
        """Which limit: what the metric calls it."""
        self.headers = _retry_after(retry_after_s)


class MethodNotAllowed(WebError):
    """The endpoint takes POST only."""

    headers = MappingProxyType({"Allow": "POST"})


class NotAcceptable(WebError):
    """The client takes no content type that the answer can have."""


class UnsupportedMediaType(WebError):
    """The body is not declared to be JSON."""


class MalformedBody(WebError):
    """Where the body ends cannot be told: its chunks or trailers break HTTP's rules."""


class BodyTooLarge(WebError):
    """The body is larger than the limit."""


class BodyTooSlow(WebError):
    """The body did not arrive whole, or not in time."""


class TooManyWaiting(WebError):
    """As many calls wait for their jobs in this process as may."""


class AuthorCodeTooSlow(WebError):
    """Code of a tool that runs in this process took too long; it belongs on a worker."""


class TooManyStreams(WebError):
    """As many streams are open in this process as may, or it is about to end."""


class InvalidWebSettings(WebError):
    """The environment does not say how to run; every fault names its variable."""

    variables: Collection[str] = ()
    """Those at fault, where it is known."""


class ErrorMapping(NamedTuple):
    """How one kind of exception is answered."""

    code: int
    status: int
    words: str = ""
    """What is said instead of the exception's own message."""
    retry_after_s: int | None = None


ERROR_TABLE: Final[Mapping[type[Exception], ErrorMapping]] = {
    MalformedJson: ErrorMapping(PARSE_ERROR, 400),
    InvalidMessage: ErrorMapping(INVALID_REQUEST, 400),
    MethodNotFound: ErrorMapping(METHOD_NOT_FOUND, 404),
    InvalidParams: ErrorMapping(INVALID_PARAMS, 400),
    HeaderMismatch: ErrorMapping(HEADER_MISMATCH, 400),
    MissingClientCapability: ErrorMapping(MISSING_CAPABILITY, 400),
    UnsupportedVersion: ErrorMapping(UNSUPPORTED_VERSION, 400),
    TaskNotFound: ErrorMapping(INVALID_PARAMS, 400, "No task with this id"),
    CallConflict: ErrorMapping(INVALID_PARAMS, 400, "The idempotency key was used for another tool or other arguments"),
    Unauthenticated: ErrorMapping(UNAUTHENTICATED, 401),
    RequestForbidden: ErrorMapping(INVALID_REQUEST, 403),
    InsufficientScope: ErrorMapping(FORBIDDEN, 403),
    MethodNotAllowed: ErrorMapping(INVALID_REQUEST, 405),
    NotAcceptable: ErrorMapping(INVALID_REQUEST, 406),
    MalformedBody: ErrorMapping(INVALID_REQUEST, 400),
    BodyTooSlow: ErrorMapping(INVALID_REQUEST, 408),
    BodyTooLarge: ErrorMapping(INVALID_REQUEST, 413),
    UnsupportedMediaType: ErrorMapping(INVALID_REQUEST, 415),
    LimitReached: ErrorMapping(LIMIT_REACHED, 429),
    IssuerUnavailable: ErrorMapping(INTERNAL_ERROR, 503, "The issuer of tokens does not answer"),
    TooManyWaiting: ErrorMapping(INTERNAL_ERROR, 503, retry_after_s=RETRY_AFTER_S),
    AuthorCodeTooSlow: ErrorMapping(INTERNAL_ERROR, 503, retry_after_s=RETRY_AFTER_S),
    TooManyStreams: ErrorMapping(INTERNAL_ERROR, 503, retry_after_s=RETRY_AFTER_S),
    StoreUnavailable: ErrorMapping(INTERNAL_ERROR, 503, "The task store does not answer", RETRY_AFTER_S),
    WriteUnconfirmed: ErrorMapping(
        INTERNAL_ERROR, 503, "The task store does not confirm that writes are on disk", RETRY_AFTER_S
    ),
    StoreRefused: ErrorMapping(INTERNAL_ERROR, 503, "The task store takes no writes now", RETRY_AFTER_S),
    StoreForbidden: ErrorMapping(
        INTERNAL_ERROR, 503, "The task store lets this server do less than it needs", RETRY_AFTER_S
    ),
    BrokerUnavailable: ErrorMapping(INTERNAL_ERROR, 503, "The message broker does not answer", RETRY_AFTER_S),
}
"""Exception → JSON-RPC code → HTTP status. What is not here is an incident of ours.

Source: basic/transports/streamable-http, "Sending Messages" and "Server Validation".
"""

STATUS_OF_AUTHOR_CODE: Final[Mapping[int, int]] = {
    row.code: row.status for row in ERROR_TABLE.values() if row.status in (400, 404)
}
"""HTTP status of a JSON-RPC error that a tool's author raised; any other code is answered with 200."""


@dataclass(frozen=True, slots=True)
class JsonRpcError:
    """A JSON-RPC error with the HTTP status that it goes out with."""

    code: int
    message: str
    status: int
    data: object = None
    headers: Mapping[str, str] = field(default_factory=dict)


def json_rpc_error_of(fault: Exception) -> JsonRpcError | None:
    """How this exception is answered, or None when it is not one that a client may hear of."""
    if isinstance(fault, CallFailed):
        return JsonRpcError(fault.code, str(fault), STATUS_OF_AUTHOR_CODE.get(fault.code, 200), fault.author_data)
    row = ERROR_TABLE.get(type(fault))
    if row is None:
        return None
    headers = {} if row.retry_after_s is None else {"Retry-After": str(row.retry_after_s)}
    data = None
    if isinstance(fault, WebError):
        data, headers = fault.data, {**headers, **fault.headers}
    return JsonRpcError(row.code, row.words or str(fault), row.status, data, headers)


def _retry_after(seconds: float) -> Mapping[str, str]:
    return {"Retry-After": str(max(1, math.ceil(seconds)))}


def _path(capability: Mapping[str, object]) -> str:
    """`{"elicitation": {"form": {}}}` as `elicitation.form`."""
    parts = []
    inner: object = capability
    while isinstance(inner, Mapping) and inner:
        name, inner = next(iter(inner.items()))
        parts.append(name)
    return ".".join(parts)
