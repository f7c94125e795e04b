"""`server/discover`."""

from coatcheck.web.protocol.call import Call
from coatcheck.web.protocol.serialization import discover_result

LIST_TTL_MS = 60_000
"""How long a client may keep what it learned about this server: a deployment changes it."""


class Discover:
    """Says what is spoken and served here."""

    def __init__(self, instructions: str, cache_scope: str) -> None:
        self._instructions = instructions
        self._cache_scope = cache_scope

    def discover(self, _call: Call) -> dict[str, object]:
        """Source: server/discover."""
        return discover_result(self._instructions, LIST_TTL_MS, self._cache_scope)
