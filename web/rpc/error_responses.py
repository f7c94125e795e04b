"""Turn an exception into a JSON-RPC error, a line in the log and a count."""

import logging
import secrets
from collections.abc import Callable, Collection

from coatcheck.tasks_store import INTERNAL_ERROR
from coatcheck.web.errors import JsonRpcError, LimitReached, json_rpc_error_of
from coatcheck.workers.telemetry.tracing import refused
from coatcheck.workers.toolkit.errors import places_of

logger = logging.getLogger(__name__)


class ErrorResponses:
    """Maps exceptions to errors for clients. Details of an internal error are only logged, under an incident number."""

    def __init__(self, methods: Collection[str], count_limit: Callable[[str], None]) -> None:
        """`methods` are the names that the log can show; `count_limit` is called with each limit that is reached."""
        self._methods = methods
        self._count_limit = count_limit

    def of(self, fault: Exception, method: str) -> JsonRpcError:
        """Return the error for an exception, and log one line about it."""
        refusal = json_rpc_error_of(fault)
        if isinstance(fault, LimitReached):
            self._count_limit(fault.limit)
        refused(INTERNAL_ERROR if refusal is None else refusal.code)
        shown = method if method in self._methods else "?"
        if refusal is None:
            incident = secrets.token_hex(6)
            logger.error("%s failed, incident %s: %s at %s", shown, incident, type(fault).__name__, places_of(fault))
            return JsonRpcError(INTERNAL_ERROR, f"Internal error; the server's log has more under {incident}", 200)
        logger.warning("%s refused: %s %s", shown, refusal.code, type(fault).__name__)
        return refusal
