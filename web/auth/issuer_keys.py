"""Fetch and cache the public keys of the authorization server."""

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from joserfc.errors import JoseError
from joserfc.jwk import ECKey, JWKRegistry, OKPKey, RSAKey

from coatcheck.web.auth.http_fetch import LOOKUP_LIMIT_S, DocumentFetcher
from coatcheck.web.errors import IssuerUnavailable
from coatcheck.web.settings.auth import AuthSettings, is_trustworthy

logger = logging.getLogger(__name__)

PublicKey = RSAKey | ECKey | OKPKey

KEYS_FRESH_S: Final = 900.0
"""Seconds after which keys are fetched again, so that a withdrawn key is no longer accepted."""

KEYS_STALE_S: Final = 86_400.0
"""Seconds that keys are used while the authorization server is unavailable."""

KEY_WAIT_S: Final = 3.0
"""Seconds that a request waits for a fetch that it depends on; the wait occupies a greenlet."""


@dataclass(frozen=True, slots=True)
class KeySet:
    """The keys of one fetch."""

    keys: Mapping[str, PublicKey]
    fetched_at: float

    @property
    def age_s(self) -> float:
        """Seconds since the fetch."""
        return time.monotonic() - self.fetched_at

    def find(self, key_id: str | None) -> PublicKey | None:
        """Return the key with this id, or the only key when no id is given."""
        if key_id is None:
            return next(iter(self.keys.values())) if len(self.keys) == 1 else None
        return self.keys.get(key_id)


class IssuerKeys:
    """Finds the key that a token names, and fetches the keys again when it is unknown, at most once per cooldown.

    A separate thread fetches, one at a time, and holds no lock meanwhile: a slow authorization server does not delay
    requests whose key is known.
    """

    def __init__(self, settings: AuthSettings, limit_s: float = LOOKUP_LIMIT_S, wait_s: float = KEY_WAIT_S) -> None:
        """`limit_s` is how long a fetch may take; `wait_s`, how long a request waits for it."""
        self._issuer = settings.issuer
        self._url = settings.jwks_url
        self._cooldown_s = settings.cooldown_ms / 1000
        self._limit_s = limit_s
        self._wait_s = wait_s
        self._lock = threading.Lock()
        self._known = KeySet({}, float("-inf"))
        self._fetched = threading.Event()
        """Set unless a fetch is in progress."""
        self._fetched.set()
        self._began_at = float("-inf")
        self._fault = ""
        """Why the last fetch failed."""

    def get(self, key_id: str | None) -> PublicKey | None:
        """Return the key with this id, or the only key when the token names none; None when there is no such key.

        Raises:
            IssuerUnavailable: that cannot be known now.
        """
        key = self._known.find(key_id)
        if key is not None and self._known.age_s < KEYS_FRESH_S:
            return key
        fetched, is_begun_here = self._fetch_if_due()
        # One request waits, so that a withdrawn key is noticed; the others go on with the keys that are known.
        if key is None or is_begun_here:
            fetched.wait(self._wait_s)
        is_known_soon = not fetched.is_set()  # asked before the keys are looked at: it can end in between
        known = self._known
        key = known.find(key_id)
        if key is not None and known.age_s < KEYS_STALE_S:
            return key
        if is_known_soon:
            raise IssuerUnavailable("The keys of the issuer are being fetched")
        if self._fault:
            again_s = self._began_at + self._cooldown_s - time.monotonic()
            raise IssuerUnavailable(f"The keys of the issuer could not be fetched: {self._fault}", again_s)
        return None

    def _fetch_if_due(self) -> tuple[threading.Event, bool]:
        """Return an event that is set once the last fetch has ended, and whether this call started it."""
        with self._lock:
            is_due = time.monotonic() - self._began_at >= self._cooldown_s
            if not self._fetched.is_set() or not is_due:
                return self._fetched, False
            fetched = threading.Event()
            threading.Thread(target=self._fetch, args=(fetched,), name="issuer-keys", daemon=True).start()
            self._fetched, self._began_at = fetched, time.monotonic()
            return fetched, True

    def _fetch(self, fetched: threading.Event) -> None:
        """Replace the known keys, if the fetch gives usable ones."""
        why = "the log says why"
        try:
            with DocumentFetcher(self._limit_s) as fetch:
                self._known = KeySet(self._keys_of(fetch), time.monotonic())
            why = ""
        except IssuerUnavailable as fault:
            why = str(fault)
            logger.warning("the keys of the issuer could not be fetched: %s", fault)
        finally:
            self._fault = why
            fetched.set()

    def _keys_of(self, fetch: DocumentFetcher) -> dict[str, PublicKey]:
        url = self._url or self._discovered(fetch)
        listed = fetch.document(url).get("keys")
        if not isinstance(listed, list):
            raise IssuerUnavailable(f"{url}: has no list of keys")
        usable = dict(named for named in map(_usable, listed) if named is not None)
        if not usable:
            raise IssuerUnavailable(f"{url}: has no key that can be used")
        return usable

    def _discovered(self, fetch: DocumentFetcher) -> str:
        """Return the URL of the keys from the issuer's metadata.

        Source: OpenID Connect Discovery 1.0, section 4; RFC 8414, section 3.
        """
        parts = urlsplit(self._issuer)
        path = parts.path.rstrip("/")
        found = fetch.first_document(
            [
                f"{self._issuer.rstrip('/')}/.well-known/openid-configuration",
                f"{parts.scheme}://{parts.netloc}/.well-known/oauth-authorization-server{path}",
            ]
        )
        url = found.get("jwks_uri")
        if found.get("issuer") != self._issuer:
            raise IssuerUnavailable("The metadata of the issuer are of another one; COATCHECK_OAUTH_ISSUER names it")
        if not isinstance(url, str) or not is_trustworthy(url):
            raise IssuerUnavailable("The metadata of the issuer name no https address of keys")
        return url


def _usable(described: Any) -> tuple[str, PublicKey] | None:
    """Return the id and the key, or None for an unusable one: one invalid key must not affect the others."""
    if not isinstance(described, dict):
        return None
    try:
        key = JWKRegistry.import_key(described)
        if not isinstance(key, RSAKey | ECKey | OKPKey) or key.get("use") not in (None, "sig"):
            return None
        key.ensure_kid()
        return (key.kid, key) if isinstance(key.kid, str) else None
    except (JoseError, ValueError, TypeError, KeyError, AttributeError):
        return None
