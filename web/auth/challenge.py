"""Build `WWW-Authenticate` challenges. Pure.

Source: RFC 6750, section 3; basic/authorization, "Authorization Server Location" and "Scope Challenge Handling".
"""

from collections.abc import Iterable
from typing import NoReturn

from coatcheck.web.errors import InsufficientScope, Unauthenticated


class Challenger:
    """Refuses requests with the challenge that tells the client how to authenticate."""

    def __init__(self, metadata_url: str, asked_scopes: Iterable[str]) -> None:
        self._metadata_url = metadata_url
        self._asked = tuple(asked_scopes)

    def missing(self) -> NoReturn:
        """Refuse a request without a token."""
        raise Unauthenticated("A bearer token is needed", self._challenge(self._asked))

    def invalid(self, why: str) -> NoReturn:
        """Refuse a token. `why` must not contain any part of it."""
        challenge = self._challenge(self._asked, error="invalid_token", error_description=why)
        raise Unauthenticated(f"The bearer token was refused: {why}", challenge)

    def insufficient(self, needed: Iterable[str]) -> NoReturn:
        """Refuse a token that lacks a scope; `needed` is every scope of the request, granted or not."""
        names = sorted(needed)
        raise InsufficientScope(names, self._challenge(names, error="insufficient_scope"))

    def _challenge(self, scopes: Iterable[str], **more: str) -> str:
        parameters = {**more, "resource_metadata": self._metadata_url, "scope": " ".join(scopes)}
        # None of the values can hold a quote: scopes cannot by their grammar, the rest is ours.
        listed = ", ".join(f'{name}="{value}"' for name, value in parameters.items() if value)
        return f"Bearer {listed}" if listed else "Bearer"
