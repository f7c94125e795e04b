"""Authenticate a request by its `Authorization` header."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from coatcheck.tasks_store import Owner
from coatcheck.web.auth.challenge import Challenger
from coatcheck.web.auth.static_tokens import StaticTokens
from coatcheck.web.auth.token_verifier import TokenVerifier
from coatcheck.web.protocol.caller import ANYBODY, Caller
from coatcheck.web.settings.auth import AuthSettings

Authenticate = Callable[[str | None], Caller]
"""Returns the caller for a value of `Authorization`. Raises Unauthenticated, IssuerUnavailable."""

Known = Callable[[Mapping[str, Any]], tuple[str, str, Iterable[str] | None] | None]
"""From the WSGI environment of a request to tenant, principal and scopes of its caller; None for a caller that is not
known. Without scopes everything is granted."""

_CREDENTIALS: Final = re.compile(r"bearer(?: +([A-Za-z0-9\-._~+/]+=*))? *", re.IGNORECASE | re.ASCII)
"""Source: RFC 6750, section 2.1."""


def authenticator(settings: AuthSettings, resource: str, challenger: Challenger) -> Authenticate:
    """Return the function that authenticates callers in the configured mode. Raises InvalidWebSettings."""
    match settings.mode:
        case "tokens":
            return by_bearer(StaticTokens(settings, challenger).caller_of, challenger)
        case "oauth":
            return by_bearer(TokenVerifier(settings, resource, challenger).caller_of, challenger)
        case _:
            return lambda _authorization: ANYBODY


def by_header(authenticate: Authenticate) -> Callable[[Mapping[str, Any]], Caller]:
    """Takes what a request proves itself with from its header."""
    return lambda environ: authenticate(environ.get("HTTP_AUTHORIZATION"))


def by_function(known: Known, challenger: Challenger) -> Callable[[Mapping[str, Any]], Caller]:
    """Takes the word of the application that the front door is a part of."""

    def authenticate(environ: Mapping[str, Any]) -> Caller:
        match found := known(environ):
            case None:
                challenger.missing()
            case (str(tenant), str(principal), scopes) if principal and not isinstance(scopes, str):
                return Caller(Owner(tenant, principal), None if scopes is None else frozenset(scopes))
        raise TypeError(f"The owner of a request is (tenant, principal, scopes) or None, not {type(found).__name__}")

    return authenticate


def by_bearer(caller_of: Callable[[str], Caller], challenger: Challenger) -> Authenticate:
    """Authenticate by the bearer token in the header. A token in an address or a cookie would leak into logs and other
    pages."""

    def authenticate(authorization: str | None) -> Caller:
        scheme = (authorization or "").strip().partition(" ")[0].lower()
        if scheme != "bearer":
            challenger.missing()
        credentials = _CREDENTIALS.fullmatch((authorization or "").strip())
        if credentials is None or not credentials[1]:
            challenger.invalid("it is malformed")
        return caller_of(credentials[1])

    return authenticate
