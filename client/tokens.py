"""What a server knows its caller by."""

from collections.abc import Callable

Token = str | Callable[[], str]
"""A bearer token, or what gives one; the latter is asked again when the server no longer takes what it gave."""
