"""The public keys of the authorization server, kept for a while."""

import logging
import threading
import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from joserfc.errors import JoseError
from joserfc.jwk import ECKey, JWKRegistry, OKPKey, RSAKey

from web.auth.fetch import fetch_first, fetch_json
from web.auth.settings import AuthSettings
from web.errors import IssuerUnavailable

logger = logging.getLogger(__name__)

PublicKey = RSAKey | ECKey | OKPKey

FRESH_S: Final = 900.0
"""How long keys are used before they are asked for again, so that one that was withdrawn stops counting."""

STALE_S: Final = 86_400.0
"""How long keys are used when the authorization server cannot be asked: its outage logs nobody out for a day."""

WAIT_S: Final = 1.0
"""How long a request waits for another one that is asking."""


class Keys:
    """Finds the key that a token names; asks for the keys again when it does not know it, but not all the time."""

    def __init__(self, settings: AuthSettings) -> None:
        self._issuer = settings.issuer
        self._url = settings.jwks_url
        self._cooldown_s = settings.cooldown_ms / 1000
        self._lock = threading.Lock()
        self._keys: Mapping[str, PublicKey] = {}
        self._fetched_at = float("-inf")
        self._asked_at = float("-inf")
        self._is_away = False

    def get(self, key_id: str | None) -> PublicKey | None:
        """The key of this id, or the only one there is when the token names none; None when there is no such key.

        Raises:
            IssuerUnavailable: that cannot be known now.
        """
        key = self._find(key_id)
        age = time.monotonic() - self._fetched_at
        if key is not None and age < FRESH_S:
            return key
        self._ask()
        key = self._find(key_id)
        if key is not None and time.monotonic() - self._fetched_at < STALE_S:
            return key
        if self._is_away:
            raise IssuerUnavailable("The keys of the issuer could not be fetched")
        return None

    def _find(self, key_id: str | None) -> PublicKey | None:
        keys = self._keys
        if key_id is None:
            return next(iter(keys.values())) if len(keys) == 1 else None
        return keys.get(key_id)

    def _ask(self) -> None:
        """The keys are those of now, unless they were asked for a moment ago or the issuer is away."""
        if not self._lock.acquire(timeout=WAIT_S):
            return
        try:
            if time.monotonic() - self._asked_at < self._cooldown_s:
                return
            self._asked_at = time.monotonic()
            try:
                self._keys = self._fetch()
            except IssuerUnavailable as fault:
                self._is_away = True
                logger.warning("the keys of the issuer could not be fetched: %s", fault)
            else:
                self._is_away = False
                self._fetched_at = time.monotonic()
        finally:
            self._lock.release()

    def _fetch(self) -> dict[str, PublicKey]:
        url = self._url or self._discovered()
        listed = fetch_json(url).get("keys")
        if not isinstance(listed, list):
            raise IssuerUnavailable(f"{url}: no list of keys")
        return {key.kid: key for key in map(_public_key, listed) if key is not None and key.kid is not None}

    def _discovered(self) -> str:
        """Where the issuer says its keys are. Source: OpenID Connect Discovery 1.0, section 4; RFC 8414, section 3."""
        parts = urlsplit(self._issuer)
        path = parts.path.rstrip("/")
        found = fetch_first(
            [
                f"{self._issuer.rstrip('/')}/.well-known/openid-configuration",
                f"{parts.scheme}://{parts.netloc}/.well-known/oauth-authorization-server{path}",
            ]
        )
        url = found.get("jwks_uri")
        if found.get("issuer") != self._issuer or not isinstance(url, str):
            raise IssuerUnavailable("The metadata of the issuer are of another one, or name no keys")
        return url


def _public_key(described: Any) -> PublicKey | None:
    """The key, or None for one that cannot be used here: one of many must not spoil the others."""
    try:
        key = JWKRegistry.import_key(described)
    except (JoseError, ValueError, TypeError, KeyError):
        return None
    if not isinstance(key, RSAKey | ECKey | OKPKey) or key.get("use") not in (None, "sig"):
        return None
    key.ensure_kid()
    return key
