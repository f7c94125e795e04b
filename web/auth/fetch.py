"""Gets JSON documents of the authorization server."""

import http.client
import json
import urllib.error
import urllib.request
from typing import Any, Final

from web.errors import IssuerUnavailable

LIMIT_S: Final = 3.0
"""How long the authorization server may be silent: a person waits, and a thread with them."""

MAX_BYTES: Final = 1024 * 1024
"""No honest document is larger."""


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Keys come from where the operator said, or not at all."""

    def redirect_request(self, *_: Any) -> None:
        """A redirect is answered like an error."""
        return


_OPENER: Final = urllib.request.build_opener(NoRedirects)


def fetch_json(url: str) -> dict[str, Any]:
    """The JSON object at this address.

    Raises:
        IssuerUnavailable: there is none now.
    """
    try:
        with _OPENER.open(url, timeout=LIMIT_S) as response:
            document = json.loads(response.read(MAX_BYTES))
    except (OSError, http.client.HTTPException, ValueError) as fault:
        raise IssuerUnavailable(f"{url}: {type(fault).__name__}") from fault
    if not isinstance(document, dict):
        raise IssuerUnavailable(f"{url}: not a JSON object")
    return document


def fetch_first(urls: list[str]) -> dict[str, Any]:
    """The JSON object at the first of these addresses that has one. Raises IssuerUnavailable."""
    for url in urls[:-1]:
        try:
            return fetch_json(url)
        except IssuerUnavailable as fault:
            if not isinstance(fault.__cause__, urllib.error.HTTPError):
                raise  # the server is away, wherever the document is
    return fetch_json(urls[-1])
