"""Check a request before its body is read: its Host, its Origin and its content types."""

import re
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from flask import Request
from werkzeug.datastructures import MIMEAccept
from werkzeug.http import parse_accept_header, parse_options_header

from coatcheck.web.errors import NotAcceptable, RequestForbidden, UnsupportedMediaType
from coatcheck.web.settings.auth import LOOPBACK_HOSTS
from coatcheck.web.settings.web import WebSettings

JSON_TYPE: Final = "application/json"
EVENT_STREAM_TYPE: Final = "text/event-stream"

_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^:/@?#\[\]\s]+))(?::[0-9]{1,5})?")


class RequestGuard:
    """Checks Host and Origin against those that this server accepts.

    Source: basic/transports/streamable-http, "Security & Endpoint".
    """

    def __init__(self, settings: WebSettings) -> None:
        public = urlsplit(settings.public_url)
        self._hosts = LOOPBACK_HOSTS | set(settings.allowed_hosts) | ({public.hostname} if public.hostname else set())
        self._origins = set(settings.allowed_origins)
        if public.hostname:
            self._origins.add(f"{public.scheme}://{public.netloc}".lower())
        self._preflighted = frozenset(settings.allowed_origins)

    def check(self, request: Request, *, allow_ip_addresses: bool = False) -> None:
        """Check the request's Host and Origin, against DNS rebinding and requests by foreign web pages.

        With `takes_addresses`, an IP address for a host will do: no name that leads a browser here is one.

        Raises:
            RequestForbidden: Host or Origin is not accepted.
        """
        host = request.environ.get("HTTP_HOST", "").strip().lower()
        name = _name_of(host)
        if host not in self._hosts and name not in self._hosts and not (allow_ip_addresses and _is_ip_address(name)):
            raise RequestForbidden(
                "This server does not answer to that Host; COATCHECK_PUBLIC_URL and COATCHECK_ALLOWED_HOSTS name those"
                " that it answers to"
            )
        origin = request.environ.get("HTTP_ORIGIN")
        if origin is not None and not self._knows(origin.strip().lower()):
            raise RequestForbidden(
                "Web pages of that Origin may not call this server; COATCHECK_ALLOWED_ORIGINS lists those"
            )

    def preflight_origin(self, request: Request) -> str | None:
        """Return the page's origin when CORS allows it to call, else None."""
        origin: str = request.environ.get("HTTP_ORIGIN", "")
        return origin if origin.strip().lower() in self._preflighted else None

    def _knows(self, origin: str) -> bool:
        scheme, _, host = origin.partition("://")
        return origin in self._origins or (scheme in ("http", "https") and _name_of(host) in LOOPBACK_HOSTS)


def check_content_type(request: Request) -> None:
    """Check that the body is declared as JSON. Raises UnsupportedMediaType."""
    if _media_type(request.environ.get("CONTENT_TYPE", "")) != JSON_TYPE:
        raise UnsupportedMediaType("The Content-Type is application/json")


@dataclass(frozen=True, slots=True)
class AcceptedTypes:
    """The response types that the client accepts."""

    json: bool
    event_stream: bool


@lru_cache(maxsize=256)
def accepted_types(accept: str) -> AcceptedTypes:
    """Parse an `Accept` header; an empty one accepts everything.

    Raises:
        NotAcceptable: neither JSON nor an event stream.
    """
    if not accept.strip():
        return AcceptedTypes(json=True, event_stream=True)
    ranges = parse_accept_header(accept, MIMEAccept)
    taken = AcceptedTypes(json=ranges.quality(JSON_TYPE) > 0, event_stream=ranges.quality(EVENT_STREAM_TYPE) > 0)
    if not taken.json and not taken.event_stream:
        raise NotAcceptable("Answers are application/json or text/event-stream")
    return taken


@lru_cache(maxsize=256)
def _media_type(content_type: str) -> str:
    return parse_options_header(content_type)[0].lower()


def _is_ip_address(name: str | None) -> bool:
    try:
        ip_address(name or "")
    except ValueError:
        return False
    return True


def _name_of(host: str) -> str | None:
    """Return the host name in a `Host` value, without its port; None when it is malformed."""
    parts = _HOST.fullmatch(host)
    return (parts[1] or parts[2]) if parts else None
