"""Make texts of tools and validators safe to send."""

import re
from typing import Final

MAX_LENGTH: Final = 10_000
"""Characters of a message."""

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""Control characters that a terminal acts on, except tabs and line breaks."""


def sendable(text: object, most: int = MAX_LENGTH) -> str:
    """Return the text cut to `most` characters, with lone surrogates and control characters escaped.

    The message of an author's error can be any object; one that is not a string is converted with `str`.
    """
    if not isinstance(text, str):
        try:
            text = str(text)
        except Exception:  # noqa: BLE001 - an author's `__str__` can raise anything
            text = f"a message of type {type(text).__name__} that cannot be shown"
    if len(text) > most:
        text = f"{text[:most]}… (cut; it had {len(text)} characters)"
    whole = text.encode("utf-8", "backslashreplace").decode()
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", whole)
