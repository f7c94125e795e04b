"""Verify access tokens of an authorization server: `COATCHECK_AUTH=oauth`.

Source: RFC 9068; basic/authorization, "Token Handling".
"""

import time
from collections.abc import Mapping
from typing import Any, Final

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import Key
from joserfc.jws import JWSRegistry

from coatcheck.tasks_store import Owner
from coatcheck.web.auth.challenge import Challenger
from coatcheck.web.auth.issuer_keys import IssuerKeys
from coatcheck.web.protocol.caller import Caller
from coatcheck.web.settings.auth import AuthSettings

MAX_TIME_S: Final = 253_402_300_799.0
"""The end of the year 9999. A later time is invalid: it is in milliseconds, or not a number."""

CLOCK_SKEW_S: Final = 10.0
"""Seconds that the issuer's clock can be ahead of ours. There is no tolerance for expiry."""


class _UnknownKey(Exception):
    """The token names a key that its issuer does not have."""


class TokenVerifier:
    """Verifies JSON Web Tokens of one issuer for this server."""

    def __init__(self, settings: AuthSettings, resource: str, challenger: Challenger) -> None:
        """`resource` is this server's canonical URI."""
        self._settings = settings
        self._challenger = challenger
        self._keys = IssuerKeys(settings)
        # Not the origin alone: it can be the audience of tokens for other services on the same host.
        self._audiences = frozenset(audience.rstrip("/") for audience in (resource, *settings.audiences))
        # Issuers put more into headers than a standard knows of.
        self._registry = JWSRegistry(algorithms=settings.algorithms, strict_check_header=False)

    def caller_of(self, token: str) -> Caller:
        """Verify the token and return its caller.

        Raises:
            Unauthenticated: it is not one of this issuer for this server, now.
            IssuerUnavailable: that cannot be known.
        """
        try:
            claims = jwt.decode(token, self._key_of, registry=self._registry).claims
        except _UnknownKey:
            self._challenger.invalid("its key is unknown")
        except (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            # The library raises the latter kinds for tokens that are no tokens.
            self._challenger.invalid("its signature does not hold")
        self._check(claims)
        return Caller(self._owner(claims), self._scopes(claims), float(claims["exp"]))

    def _key_of(self, token: Any) -> Key:
        header: Mapping[str, Any] = token.headers()
        named = header.get("kid")
        key = self._keys.get(named if isinstance(named, str) else None)
        if key is None:
            raise _UnknownKey
        return key

    def _check(self, claims: Mapping[str, Any]) -> None:
        now = time.time()
        if claims.get("iss") != self._settings.issuer:
            self._challenger.invalid("it is of another issuer")
        if not self._names_us(claims.get("aud")):
            self._challenger.invalid("it is for another audience")
        for claim in ("exp", "nbf", "iat"):
            if (claim in claims or claim == "exp") and not _is_time(claims.get(claim)):
                self._challenger.invalid(f"its {claim} is not a time in seconds since 1970")
        if claims["exp"] <= now:
            self._challenger.invalid("it has expired")
        if max(claims.get("nbf", 0), claims.get("iat", 0)) > now + CLOCK_SKEW_S:
            self._challenger.invalid("it is not valid yet")

    def _names_us(self, audience: object) -> bool:
        named = audience if isinstance(audience, list) else [audience]
        return any(isinstance(one, str) and one.rstrip("/") in self._audiences for one in named)

    def _owner(self, claims: Mapping[str, Any]) -> Owner:
        tenant_claim = self._settings.tenant_claim
        tenant = self._text(claims, tenant_claim) if tenant_claim else ""
        return Owner(tenant, self._text(claims, self._settings.principal_claim))

    def _text(self, claims: Mapping[str, Any], claim: str) -> str:
        """Return the text of a required claim: callers whose tokens lack it would be the same owner."""
        value = claims.get(claim)
        if not isinstance(value, str) or not value or not _is_unicode(value):
            self._challenger.invalid(f"it has no {claim} that is a text")
        return value

    def _scopes(self, claims: Mapping[str, Any]) -> frozenset[str]:
        granted = claims.get(self._settings.scope_claim) or ""
        listed = granted.split(" ") if isinstance(granted, str) else granted
        if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
            self._challenger.invalid(f"its {self._settings.scope_claim} is neither a text nor a list of texts")
        return frozenset(filter(None, listed))


def _is_time(value: object) -> bool:
    """Tell whether this is a NumericDate. Source: RFC 7519, section 2. No comparison holds for what is not a number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MAX_TIME_S


def _is_unicode(text: str) -> bool:
    """Tell whether the text can be encoded: JSON can contain lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
