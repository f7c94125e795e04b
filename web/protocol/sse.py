"""Server-sent events as they are written here."""

from collections.abc import Mapping
from typing import Final

MAX_SILENCE_S: Final = 10.0
"""How long a stream is silent at most: routers cut connections that are idle for a minute."""

COMMENT: Final = b":\n\n"

EVENT_STREAM_HEADERS: Final[Mapping[str, str]] = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
"""Keep what is between us and the client from holding events back."""


def sse_event(message: bytes) -> bytes:
    """One server-sent event. JSON as it is written here has no line breaks."""
    return b"event: message\ndata: " + message + b"\n\n"
