"""Whom the front door lets in: who they are, what they may do, and how much of it."""

from collections.abc import Callable

from flask import Blueprint, Request

from coatcheck.web.access.client_address import client_address
from coatcheck.web.access.limits import Limits
from coatcheck.web.access.scopes import Scopes, all_scopes
from coatcheck.web.auth.authenticator import authenticator
from coatcheck.web.auth.challenge import Challenger
from coatcheck.web.auth.resource_metadata import metadata, metadata_url
from coatcheck.web.errors import LimitReached, Unauthenticated
from coatcheck.web.protocol.call import Call
from coatcheck.web.protocol.caller import Caller
from coatcheck.web.settings.web import ServerSettings
from coatcheck.web.streams.connections import Connections
from coatcheck.workers.toolkit.tool import Catalogue

PUBLIC = "public"
"""Anybody may keep an answer, because everybody gets the same."""
PRIVATE = "private"
"""An answer is for its caller alone, who had to prove who they are."""


class AccessPolicy:
    """Authentication, scopes and limits, as the settings have them."""

    def __init__(self, settings: ServerSettings, catalogue: Catalogue, connections: Callable[[], Connections]) -> None:
        """Raises InvalidSettings for tokens that cannot be read."""
        auth = settings.auth
        self._settings = settings
        is_open = auth.mode == "none"
        self.cache_scope = PUBLIC if is_open else PRIVATE
        self._asked_scopes = auth.asked_scopes or all_scopes(catalogue, auth.method_scopes)
        resource = settings.web.resource
        challenger = Challenger(metadata_url(resource) if auth.mode == "oauth" else "", self._asked_scopes)
        self._authenticate = authenticator(auth, resource, challenger)
        self.scopes = Scopes(catalogue, auth.method_scopes, challenger)
        self.limits = Limits(
            settings.limits,
            settings.web.processes,
            lambda: connections().store.quota,
            lambda: connections().dispatcher,
            knows_owners=not is_open,
        )

    def caller_of(self, request: Request) -> Caller:
        """Whom the request acts for.

        Raises:
            Unauthenticated: it does not prove it.
            LimitReached: nor do many others from its address. Only they are refused: whoever else is behind the same
                address, and has a token, is served.
            IssuerUnavailable: that cannot be known.
        """
        try:
            return self._authenticate(request.headers.get("Authorization"))
        except Unauthenticated as fault:
            try:
                self.limits.check_failure(client_address(request.environ, self._settings.limits.trusted_proxies))
            except LimitReached as limit:
                limit.headers = {**limit.headers, **fault.headers}  # how to do better is no secret
                raise
            raise

    def admit(self, call: Call) -> None:
        """The call may be made by its caller, now. Raises LimitReached, InsufficientScope."""
        self.limits.check_request(call.owner)
        self.scopes.check(call)

    def metadata(self) -> Blueprint | None:
        """Where clients learn who gives tokens, if anybody does."""
        settings = self._settings
        if settings.auth.mode != "oauth":
            return None
        return metadata(settings.web.resource, settings.auth.issuer, self._asked_scopes, settings.workers.server_name)
