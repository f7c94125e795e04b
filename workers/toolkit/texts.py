"""Texts that leave a tool or an author's validator: every one of them becomes sendable here."""

import re
from typing import Final

MAX_LENGTH: Final = 10_000
"""Characters of a message; a model or a person needs no more."""

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""What a terminal could obey; tabs and line breaks are text."""


def sendable(text: object, most: int = MAX_LENGTH) -> str:
    """Return the text cut to `most` characters, with half characters and control characters escaped.

    An author can raise an error with anything for its message: what is no string is sent as `str` has it.
    """
    if not isinstance(text, str):
        try:
            text = str(text)
        except Exception:  # noqa: BLE001 - an author's `__str__` may raise anything
            text = f"a message of type {type(text).__name__} that cannot be shown"
    if len(text) > most:
        text = f"{text[:most]}… (cut; it had {len(text)} characters)"
    whole = text.encode("utf-8", "backslashreplace").decode()
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", whole)
