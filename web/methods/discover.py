"""`server/discover`."""

from coatcheck.web.protocol.call import Call
from coatcheck.web.protocol.serialization import discover_result

LIST_TTL_MS = 60_000
"""How long clients can cache descriptions of the server and its tools; a deployment can change them."""


class Discover:
    """Describes the server."""

    def __init__(self, instructions: str, cache_scope: str) -> None:
        self._instructions = instructions
        self._cache_scope = cache_scope

    def discover(self, _call: Call) -> dict[str, object]:
        """Return the supported revisions and capabilities."""
        return discover_result(self._instructions, LIST_TTL_MS, self._cache_scope)
