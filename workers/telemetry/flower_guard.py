"""Protect Flower, which shows and stops runs, and let its buttons work on loopback.

The checks read Flower's own options after Flower has parsed them, so their source does not matter.
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
"""Flower's variable for an API without login. Flower reads it from the environment only."""

NOT_FRAMED: Final = {"Content-Security-Policy": "frame-ancestors 'none'", "X-Frame-Options": "DENY"}
"""Headers that forbid other sites to show pages in frames, against clickjacking."""

NOBODY_ANSWERED: Final = "Inspect method %s failed"
"""Flower's log message for each inspection before a worker has started. It inspects again when one starts."""

FORWARDED: Final = ("Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP")
"""Headers that a proxy adds."""


def guard_flower(*, may_be_open: bool) -> None:
    """Exit unless Flower has a login, listens on loopback only, or may be open. Do nothing in other processes.

    Its pages cannot be shown in frames. On loopback without a login, the buttons of its pages work.

    Raises:
        SystemExit: Flower would be open, or a login is not valid.
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
    """Return what is wrong with `FLOWER_BASIC_AUTH`, without quoting it; empty if nothing is.

    Flower accepts an empty user or password as a login, which anyone can guess.
    """
    for login in logins:
        user, _, password = login.partition(":")
        if not user.strip() or not password.strip():
            return "FLOWER_BASIC_AUTH holds a login without user or password; write user:password for each, with commas"
    return ""


def is_open_to_strangers(options: Any) -> bool:
    """Return whether Flower with these options has no login and is reachable from other machines."""
    if options.unix_socket or _is_loopback(options.address):
        return False
    is_guarded = bool(options.basic_auth) or bool(options.auth and options.auth_provider)
    return not is_guarded


def is_for_this_machine(options: Any) -> bool:
    """Return whether Flower with these options listens on loopback without a login."""
    return not (options.unix_socket or options.basic_auth or options.auth) and _is_loopback(options.address)


def is_from_our_page(request: Any) -> bool:
    """Return whether a browser on this machine sent the request from a page of this Flower.

    `Origin` and `Sec-Fetch-Site` show a page of another site; `Host` shows DNS rebinding; `Host` or a header that the
    proxy adds shows a forwarded request.
    """
    if not _is_loopback(request.host_name) or any(name in request.headers for name in FORWARDED):
        return False
    origin, site = request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site")
    if origin is not None and urlsplit(origin).netloc != request.host:
        return False
    return site == "same-origin" if site is not None else origin is not None


def _keep_out_of_frames() -> None:
    """Add the headers to every response of Flower: pages, errors and files."""
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
    """Let the buttons of Flower's pages work, whose requests Flower refuses without a login.

    Flower's own switch would open its whole API, also to pages of other sites.
    """
    from flower.api.control import ControlHandler  # noqa: PLC0415 - no worker needs it

    refuse = ControlHandler.prepare

    def prepare(handler: Any) -> None:
        if not is_from_our_page(handler.request):
            refuse(handler)

    ControlHandler.prepare = prepare


def _is_loopback(address: str) -> bool:
    """Return whether the address is loopback. An empty address means every address."""
    if address in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(address.strip("[]")).is_loopback
    except ValueError:
        return False
