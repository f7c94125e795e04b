"""Create the JSON-RPC responses of legacy revisions."""

from collections.abc import Callable, Collection, Generator, Mapping
from dataclasses import replace
from typing import Final

import orjson

from coatcheck.web.errors import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    UNSUPPORTED_VERSION,
    CallFailed,
    InvalidMessage,
    JsonRpcError,
    MethodNotFound,
)
from coatcheck.web.protocol.envelope import RequestId
from coatcheck.web.protocol.response import RpcResponse
from coatcheck.web.protocol.serialization import error_message, result_message
from coatcheck.web.rpc.error_responses import ErrorResponses
from coatcheck.workers.toolkit.outcome import MISSING_CAPABILITY

LegacyResult = Mapping[str, object]

LegacyWait = Generator[bytes | None, None, LegacyResult]
"""Yields messages and None for a pause, and returns the result."""

LEGACY_CODES: Final[Mapping[int, int]] = {
    HEADER_MISMATCH: INVALID_REQUEST,
    MISSING_CAPABILITY: INVALID_PARAMS,
    UNSUPPORTED_VERSION: INVALID_REQUEST,
}
"""Replacements for error codes that legacy revisions do not have."""


class LegacyResponses:
    """Serializes results and errors for legacy clients."""

    def __init__(self, methods: Collection[str], count_limit: Callable[[str], None]) -> None:
        """Take the arguments of `ErrorResponses`."""
        self._refusals = ErrorResponses(methods, count_limit)

    def result(self, request_id: RequestId, result: LegacyResult) -> RpcResponse:
        """Return the response with a result."""
        return RpcResponse(result_message(request_id, orjson.dumps(result), {}))

    def refused(self, fault: Exception, method: str = "?", request_id: RequestId | None = None) -> RpcResponse:
        """Return the error response for an exception.

        Legacy clients read the body of HTTP 200 only, so most errors have that status; a message that cannot be parsed,
        and a request that is refused before its body is read, keep their own.

        Source: 2025-11-25, basic/transports, "Sending Messages to the Server".
        """
        refusal = self._refusals.of(fault, method)
        told = _told(refusal)
        is_of_message = isinstance(fault, InvalidMessage | MethodNotFound)
        status = 200 if refusal.status in (400, 404) and not is_of_message else refusal.status
        return RpcResponse(error_message(request_id, told), status, told.headers)


def task_support_error(why: str) -> CallFailed:
    """Return the error of a tool that does not support being called as a task, or requires it.

    Source: 2025-11-25, basic/utilities/tasks, "Tool-Level Negotiation".
    """
    return CallFailed(-32601, why)


def _told(refusal: JsonRpcError) -> JsonRpcError:
    if refusal.code not in LEGACY_CODES:
        return refusal
    message = refusal.message
    if refusal.code == MISSING_CAPABILITY:
        # These clients declare nothing with a request, so they cannot follow the usual advice.
        data = refusal.data if isinstance(refusal.data, Mapping) else {}
        kinds = ", ".join(data.get("requiredCapabilities") or ("elicitation",))
        message = f"The tool asks what this host cannot show ({kinds}); call it from a host that shows such questions"
    return replace(refusal, code=LEGACY_CODES[refusal.code], message=message, data=None)
