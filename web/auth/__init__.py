"""Who may do what."""

from web.auth.caller import ANYBODY, Caller
from web.auth.challenge import Challenger
from web.auth.gate import Authenticate, authenticator
from web.auth.metadata import metadata, metadata_url
from web.auth.settings import AuthSettings

__all__ = [
    "ANYBODY",
    "AuthSettings",
    "Authenticate",
    "Caller",
    "Challenger",
    "authenticator",
    "metadata",
    "metadata_url",
]
