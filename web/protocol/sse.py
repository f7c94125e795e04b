"""Server-sent events."""

from collections.abc import Mapping
from typing import Final

MAX_SILENCE_S: Final = 10.0
"""Seconds without an event after which a comment is sent: routers close connections that are idle for a minute."""

COMMENT: Final = b":\n\n"

EVENT_STREAM_HEADERS: Final[Mapping[str, str]] = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
"""Keep proxies from buffering events."""


def sse_event(message: bytes) -> bytes:
    """Return a message as a server-sent event. JSON as written here has no line breaks."""
    return b"event: message\ndata: " + message + b"\n\n"
