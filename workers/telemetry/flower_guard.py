"""Keeps Flower from strangers, and its buttons working for whoever is on this machine.

Flower shows what runs, and stops it.

What it takes is asked of Flower's own options, once they are read, so it does not matter where they came from.
"""

import ipaddress
import logging
import os
import sys
from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urlsplit

import click

LOOPBACK_NAMES: Final = frozenset({"localhost", "ip6-localhost"})

OPEN_API: Final = "FLOWER_UNAUTHENTICATED_API"
"""Flower's own word on it, which it reads from the environment alone: whether its API asks for no login."""

NOT_FRAMED: Final = {"Content-Security-Policy": "frame-ancestors 'none'", "X-Frame-Options": "DENY"}
"""Headers that keep pages out of frames of other sites, whose visitors would press their buttons unknowingly."""

NOBODY_ANSWERED: Final = "Inspect method %s failed"
"""What Flower logs for each of its looks while no worker has started yet. It looks again when one does."""

FORWARDED: Final = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP")
"""Headers by which a proxy tells that it stands in between."""


def guard_flower(*, may_be_open: bool) -> None:
    """Flower is protected, or reached from this machine alone, or allowed to be open; or this process is not Flower.

    Its pages are shown in no frame. Where it is for this machine and asks for no login, they may stop what they show.

    Raises:
        SystemExit: none of that.
    """
    context = click.get_current_context(silent=True)
    if context is None or context.info_name != "flower":
        return
    from tornado.options import options as tornado_options  # noqa: PLC0415 - only Flower needs it, and brings it

    _keep_out_of_frames()
    if fault := login_fault(tornado_options.basic_auth or ()):
        sys.exit(f"coatcheck cannot start Flower:\n{fault}")
    logging.getLogger("flower.inspector").addFilter(lambda record: record.msg != NOBODY_ANSWERED)
    if is_for_this_machine(tornado_options) and OPEN_API not in os.environ:
        _let_pages_act()
    if not may_be_open and is_open_to_strangers(tornado_options):
        sys.exit(
            "coatcheck cannot start Flower:\n"
            f"it listens on {tornado_options.address or 'every address'}, so FLOWER_BASIC_AUTH (user:password) or"
            " FLOWER_AUTH with FLOWER_AUTH_PROVIDER must be set; or set FLOWER_ADDRESS=127.0.0.1"
        )


def login_fault(logins: Iterable[str]) -> str:
    """Return what is wrong with `FLOWER_BASIC_AUTH`, if anything is, without a word of it.

    Flower takes what it was given for a login, an empty one too: whoever guesses nothing is in.
    """
    for login in logins:
        user, _, password = login.partition(":")
        if not user.strip() or not password.strip():
            return "FLOWER_BASIC_AUTH holds a login without user or password; write user:password for each, with commas"
    return ""


def is_open_to_strangers(options: Any) -> bool:
    """Anybody who can reach Flower with these options may use it, and not only this machine can."""
    if options.unix_socket or _is_loopback(options.address):
        return False
    is_guarded = bool(options.basic_auth) or bool(options.auth and options.auth_provider)
    return not is_guarded


def is_for_this_machine(options: Any) -> bool:
    """Flower with these options listens on loopback, and asks nobody who they are."""
    return not (options.unix_socket or options.basic_auth or options.auth) and _is_loopback(options.address)


def is_from_our_page(request: Any) -> bool:
    """A browser on this machine sent this from a page that this same Flower gave it.

    A page of another site is told by `Origin` and `Sec-Fetch-Site`; one whose name was made to lead here, by `Host`; a
    request that a proxy handed on, by `Host` or what the proxy adds.
    """
    if not _is_loopback(request.host_name) or any(name in request.headers for name in FORWARDED):
        return False
    origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site")
    if origin is not None and urlsplit(origin).netloc != request.host:
        return False
    return site == "same-origin" if site is not None else origin is not None


def _keep_out_of_frames() -> None:
    """Every response of Flower says so: its pages', its errors' and its files'."""
    from flower.views import BaseHandler  # noqa: PLC0415 - no worker needs it
    from tornado.web import RequestHandler  # noqa: PLC0415

    for handlers in (RequestHandler, BaseHandler):
        _say_always(handlers)


def _say_always(handlers: Any) -> None:
    begin: Any = handlers.set_default_headers

    def set_default_headers(handler: Any) -> None:
        begin(handler)
        for name, value in NOT_FRAMED.items():
            handler.set_header(name, value)

    handlers.set_default_headers = set_default_headers


def _let_pages_act() -> None:
    """The buttons of Flower's pages work: by itself, Flower without a login refuses what they send.

    Its own switch would open all of its API, to the pages of all sites too.
    """
    from flower.api.control import ControlHandler  # noqa: PLC0415 - no worker needs it

    refuse = ControlHandler.prepare

    def prepare(handler: Any) -> None:
        if not is_from_our_page(handler.request):
            refuse(handler)

    ControlHandler.prepare = prepare


def _is_loopback(address: str) -> bool:
    """No address at all is every address."""
    if address in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False
