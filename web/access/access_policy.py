"""Authentication, scopes and limits as one policy."""

from collections.abc import Callable

from flask import Blueprint, Request

from coatcheck.web.access.client_address import client_address
from coatcheck.web.access.limits import Limits
from coatcheck.web.access.scopes import Scopes, all_scopes
from coatcheck.web.auth.authenticator import Known, authenticator, by_function, by_header
from coatcheck.web.auth.challenge import Challenger
from coatcheck.web.auth.resource_metadata import metadata, metadata_url
from coatcheck.web.errors import LimitReached, Unauthenticated
from coatcheck.web.protocol.call import Call
from coatcheck.web.protocol.caller import Caller
from coatcheck.web.settings.web import ServerSettings
from coatcheck.web.streams.connections import Connections
from coatcheck.workers.toolkit.tool import Catalogue

PUBLIC = "public"
"""Any cache can keep a response, because all callers get the same."""
PRIVATE = "private"
"""A response is for its authenticated caller alone."""


class AccessPolicy:
    """Authenticates requests, and checks the scopes and limits of calls."""

    def __init__(
        self,
        settings: ServerSettings,
        catalogue: Catalogue,
        connections: Callable[[], Connections],
        known: Known | None = None,
    ) -> None:
        """`known` identifies callers instead of a token. Raises InvalidSettings for tokens that cannot be read."""
        auth = settings.auth
        self._settings = settings
        is_open = auth.mode == "none"
        self.cache_scope = PUBLIC if is_open else PRIVATE
        self._asked_scopes = auth.asked_scopes or all_scopes(catalogue, auth.method_scopes)
        resource = settings.web.resource
        challenger = Challenger(metadata_url(resource) if auth.mode == "oauth" else "", self._asked_scopes)
        self._authenticate = (
            by_header(authenticator(auth, resource, challenger)) if known is None else by_function(known, challenger)
        )
        self.scopes = Scopes(catalogue, auth.method_scopes, challenger)
        self.limits = Limits(
            settings.limits,
            settings.web.processes,
            lambda: connections().store.quota,
            lambda: connections().dispatcher,
            knows_owners=not is_open,
        )

    def caller_of(self, request: Request) -> Caller:
        """Authenticate the request and return its caller.

        Raises:
            Unauthenticated: the credentials are missing or invalid.
            LimitReached: they are, and too many such requests came from the same address. Requests with valid
                credentials from that address are served.
            IssuerUnavailable: the credentials cannot be verified.
        """
        try:
            return self._authenticate(request.environ)
        except Unauthenticated as fault:
            try:
                self.limits.check_failure(client_address(request.environ, self._settings.limits.trusted_proxies))
            except LimitReached as limit:
                limit.headers = {**limit.headers, **fault.headers}  # how to do better is no secret
                raise
            raise

    def admit(self, call: Call) -> None:
        """Check that the caller can make the call now. Raises LimitReached, InsufficientScope."""
        self.limits.check_request(call.owner)
        self.scopes.check(call)

    def metadata(self) -> Blueprint | None:
        """Return the routes of the OAuth metadata; None in other modes."""
        settings = self._settings
        if settings.auth.mode != "oauth":
            return None
        return metadata(settings.web.resource, settings.auth.issuer, self._asked_scopes, settings.workers.server_name)
