"""`server/discover`."""

from web.call import Call
from web.wire import discovered

LIST_TTL_MS = 60_000
"""How long a client may keep what it learned about this server: a deployment changes it."""

CACHE_SCOPE = "public"
"""Who may share it: everybody, because everybody is shown the same."""


class Discover:
    """Says what is spoken and served here."""

    def __init__(self, instructions: str) -> None:
        self._instructions = instructions

    def discover(self, _call: Call) -> dict[str, object]:
        """Source: server/discover."""
        return discovered(self._instructions, LIST_TTL_MS, CACHE_SCOPE)
