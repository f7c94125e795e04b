"""What a server knows its caller by."""

import re
from collections.abc import Callable
from typing import Final

from coatcheck.client.errors import InvalidSettings

Token = str | Callable[[], str]
"""A bearer token, or what gives one; the latter is asked again when the server no longer takes what it gave."""

_UNSENDABLE: Final = re.compile(r"[^ -~]")
"""What no header can carry in every implementation. Source: RFC 9110, 5.5."""


def checked_token(token: str, source: str) -> str:
    """The token without the white space around it, which shells and editors leave there.

    Raises:
        InvalidSettings: there is none, or no header can carry it. `source` says whose fault it is; nothing shows it.
    """
    token = token.strip()
    if fault := fault_of(token):
        raise InvalidSettings(f"{source} {fault}.")
    return token


def fault_of(token: str) -> str:
    """Why the token cannot be sent, without a character of it; empty when it can."""
    if not token:
        return "is empty"
    if (found := _UNSENDABLE.search(token)) is not None:
        return f"cannot be sent: its character {found.start() + 1} of {len(token)} is none that a header can carry"
    return ""
