"""The exceptions of the web server, and the table that maps each to a JSON-RPC code and an HTTP status."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

from coatcheck.tasks_store import (
    INTERNAL_ERROR,
    CallConflict,
    SealBroken,
    StoreForbidden,
    StoreMisaddressed,
    StoreRefused,
    StoreUnavailable,
    TaskNotFound,
    WriteUnconfirmed,
)
from coatcheck.workers.toolkit.errors import BrokerUnavailable
from coatcheck.workers.toolkit.outcome import MISSING_CAPABILITY

CANNOT_START: Final = 4
"""Exit code of an application that cannot be loaded. It is gunicorn's own: its master gives up instead of retrying."""

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
HEADER_MISMATCH: Final = -32020
"""Source: basic/transports/streamable-http, "Server Validation"."""
UNSUPPORTED_VERSION: Final = -32022
"""Source: schema, UnsupportedProtocolVersionError."""
UNAUTHENTICATED: Final = 401
"""Code of our own, as the next two: the HTTP status, which lies outside the codes that JSON-RPC reserves."""
SCOPE_MISSING: Final = 403
LIMIT_REACHED: Final = 429

RETRY_AFTER_S: Final = 2
"""Seconds after which a client can retry when the store, the broker or the issuer is unavailable."""


class WebError(Exception):
    """Base class of the errors that this package raises on purpose. The message is for the client."""

    data: Mapping[str, object] | None = None
    """The `data` member of the JSON-RPC error."""
    headers: Mapping[str, str] = MappingProxyType({})
    """Additional headers of the response."""


class MalformedJson(WebError):
    """The body is not one unambiguous JSON text."""


class InvalidMessage(WebError):
    """The body is not one JSON-RPC request or notification."""


class MethodNotFound(WebError):
    """The method is not served."""


class InvalidParams(WebError):
    """The parameters of the request are invalid."""


class HeaderMismatch(WebError):
    """A header that mirrors the body is missing, malformed or differs from it."""


class MissingClientCapability(WebError):
    """The client did not declare a capability that the request needs."""

    def __init__(self, required: Mapping[str, object]) -> None:
        super().__init__(f"The client must declare the capability {_path(required)} on this request")
        self.data = {"requiredCapabilities": required}


class UnsupportedVersion(WebError):
    """The client speaks a protocol revision that is not served."""

    def __init__(self, requested: str, supported: tuple[str, ...]) -> None:
        super().__init__(f"Unsupported protocol version; this server speaks {', '.join(supported)}")
        self.data = {"supported": list(supported), "requested": requested}


class CallFailed(WebError):
    """The tool's job ended with a JSON-RPC error raised by its author."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.author_data = data


class RequestForbidden(WebError):
    """The request's Host or Origin is not one that this server accepts."""


class Unauthenticated(WebError):
    """The request carries no valid credentials; `challenge` tells the client what is needed."""

    def __init__(self, why: str, challenge: str) -> None:
        super().__init__(why)
        self.headers = {"WWW-Authenticate": challenge}


class InsufficientScope(WebError):
    """The caller lacks a scope; `needed` lists every scope that the request takes."""

    def __init__(self, needed: Sequence[str], challenge: str) -> None:
        super().__init__(f"This needs the scopes: {' '.join(needed)}")
        self.data = {"scopes": list(needed)}
        self.headers = {"WWW-Authenticate": challenge}


class IssuerUnavailable(WebError):
    """A token cannot be verified, because the keys of its issuer cannot be fetched."""

    def __init__(self, why: str, retry_after_s: float = RETRY_AFTER_S) -> None:
        super().__init__(why)
        self.headers = _retry_after(retry_after_s)


class LimitReached(WebError):
    """A limit on requests, tasks or streams is reached."""

    def __init__(self, limit: str, what: str, retry_after_s: float) -> None:
        super().__init__(what)
        self.limit = limit
        """Name of the limit, as the metric has it."""
        self.headers = _retry_after(retry_after_s)


class MethodNotAllowed(WebError):
    """The endpoint accepts POST only."""

    headers = MappingProxyType({"Allow": "POST"})


class NotAcceptable(WebError):
    """The client accepts no content type that the response can have."""


class UnsupportedMediaType(WebError):
    """The Content-Type of the body is not JSON."""


class MalformedBody(WebError):
    """The framing of the body (chunks, trailers) breaks the rules of HTTP."""


class BodyTooLarge(WebError):
    """The body exceeds the size limit."""


class BodyTooSlow(WebError):
    """The body did not arrive whole within the time limit."""


class TooManyWaiting(WebError):
    """The process has reached its limit of waiting calls."""


class AuthorCodeTooSlow(WebError):
    """A tool's code that runs in the web process exceeded its time limit; it belongs on a worker."""


class TooManyStreams(WebError):
    """The process has reached its limit of open streams, or is shutting down."""


class InvalidWebSettings(WebError):
    """The environment holds invalid settings; every fault names its variable."""

    variables: Collection[str] = ()
    """The variables at fault, where they are known."""


class ErrorMapping(NamedTuple):
    """How one exception class is answered."""

    code: int
    status: int
    words: str = ""
    """Replaces the exception's own message."""
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
    InsufficientScope: ErrorMapping(SCOPE_MISSING, 403),
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
    StoreMisaddressed: ErrorMapping(
        INTERNAL_ERROR, 503, "The task store is not the one that this server needs", RETRY_AFTER_S
    ),
    StoreForbidden: ErrorMapping(
        INTERNAL_ERROR, 503, "The task store lets this server do less than it needs", RETRY_AFTER_S
    ),
    SealBroken: ErrorMapping(
        INTERNAL_ERROR, 503, "The task was stored with an encryption key that is not here", RETRY_AFTER_S
    ),
    BrokerUnavailable: ErrorMapping(INTERNAL_ERROR, 503, "The message broker does not answer", RETRY_AFTER_S),
}
"""Exception → JSON-RPC code → HTTP status. Any other exception is an internal error.

Source: basic/transports/streamable-http, "Sending Messages" and "Server Validation".
"""

STATUS_OF_AUTHOR_CODE: Final[Mapping[int, int]] = {
    row.code: row.status for row in ERROR_TABLE.values() if row.status in (400, 404)
}
"""HTTP status of a JSON-RPC error that a tool's author raised; any other code is answered with 200."""


@dataclass(frozen=True, slots=True)
class JsonRpcError:
    """A JSON-RPC error with the HTTP status and headers of its response."""

    code: int
    message: str
    status: int
    data: object = None
    headers: Mapping[str, str] = field(default_factory=dict)


def json_rpc_error_of(fault: Exception) -> JsonRpcError | None:
    """Return the JSON-RPC error for an exception, or None for an internal error that clients must not see."""
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
    """Return a capability as a dotted path: `{"elicitation": {"form": {}}}` is `elicitation.form`."""
    parts = []
    inner: object = capability
    while isinstance(inner, Mapping) and inner:
        name, inner = next(iter(inner.items()))
        parts.append(name)
    return ".".join(parts)
