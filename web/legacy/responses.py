"""The JSON-RPC responses of the older era."""

from collections.abc import Callable, Collection, Generator, Mapping
from dataclasses import replace
from typing import Final

import orjson

from coatcheck.web.errors import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    MISSING_CAPABILITY,
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

LegacyResult = Mapping[str, object]

LegacyWait = Generator[bytes | None, None, LegacyResult]
"""The wait for a result: messages meanwhile, None for a pause, and at last the result."""

LEGACY_CODES: Final[Mapping[int, int]] = {
    HEADER_MISMATCH: INVALID_REQUEST,
    MISSING_CAPABILITY: INVALID_PARAMS,
    UNSUPPORTED_VERSION: INVALID_REQUEST,
}
"""What stands for a code that these revisions do not know."""


class LegacyResponses:
    """Results and errors, as older clients read them."""

    def __init__(self, methods: Collection[str], count_limit: Callable[[str], None]) -> None:
        """See `ErrorResponses`."""
        self._refusals = ErrorResponses(methods, count_limit)

    def result(self, request_id: RequestId, result: LegacyResult) -> RpcResponse:
        """The response that a request hoped for."""
        return RpcResponse(result_message(request_id, orjson.dumps(result), {}))

    def refused(self, fault: Exception, method: str = "?", request_id: RequestId | None = None) -> RpcResponse:
        """The error that answers this exception.

        Older clients read no body but that of a success; a message that cannot be understood is refused by its status,
        and so is whatever is said before there is one.

        Source: 2025-11-25, basic/transports, "Sending Messages to the Server".
        """
        refusal = self._refusals.of(fault, method)
        told = _told(refusal)
        is_of_message = isinstance(fault, InvalidMessage | MethodNotFound)
        status = 200 if refusal.status in (400, 404) and not is_of_message else refusal.status
        return RpcResponse(error_message(request_id, told), status, told.headers)


def task_support_error(why: str) -> CallFailed:
    """A tool is called as a task that it cannot be, or not as the task that it has to be.

    Source: 2025-11-25, basic/utilities/tasks, "Tool-Level Negotiation".
    """
    return CallFailed(-32601, why)


def _told(refusal: JsonRpcError) -> JsonRpcError:
    if refusal.code not in LEGACY_CODES:
        return refusal
    message = refusal.message
    if refusal.code == MISSING_CAPABILITY:
        # These clients declare nothing with a request, so to ask that of them leads nowhere.
        data = refusal.data if isinstance(refusal.data, Mapping) else {}
        kinds = ", ".join(data.get("requiredCapabilities") or ("elicitation",))
        message = f"The tool asks what this host cannot show ({kinds}); call it from a host that shows such questions"
    return replace(refusal, code=LEGACY_CODES[refusal.code], message=message, data=None)
