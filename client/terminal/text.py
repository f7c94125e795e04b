"""Text from servers, made harmless for a terminal, and numbers in words."""

import json
import re
from datetime import timedelta
from typing import Any

_HARMFUL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
"""Control characters, which could move the cursor or pretend to be ours, and those that turn the text around."""


def safe(text: str) -> str:
    """The text without what a terminal would obey; lines and tabs stay."""
    return _HARMFUL.sub("", text.replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """The same on a single line."""
    return " ".join(safe(text).split())


def counted(count: int, noun: str) -> str:
    """Return the count with its noun, such as `1 ticket` or `2 tickets`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def json_line(value: Any, *, is_ascii: bool = False) -> str:
    """Return the value as JSON on one line, with what a terminal would obey written as escapes."""
    text = json.dumps(value, ensure_ascii=is_ascii)
    return _HARMFUL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def duration(seconds: float) -> str:
    """The largest unit that fits, such as `3 min`."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{max(0, seconds):.0f} s"


def clock(span: timedelta) -> str:
    """Minutes and seconds, such as `1:05`, with hours when there are any."""
    minutes, seconds = divmod(int(span.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def size(count: int) -> str:
    """Bytes in the unit that people use, such as `12.3 kB`."""
    if count < 1_000:
        return f"{count} B"
    return f"{count / 1_000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"
