"""Keeps Flower from starting where strangers could use it: it shows what runs, and stops it.

What it takes is asked of Flower's own options, once they are read, so it does not matter where they came from.
"""

import ipaddress
import sys
from typing import Any, Final

import click
from tornado.options import options as tornado_options

LOOPBACK_NAMES: Final = frozenset({"localhost", "ip6-localhost"})


def guard_flower(*, may_be_open: bool) -> None:
    """Flower is protected, or reached from this machine alone, or allowed to be open; or this process is not Flower.

    Raises:
        SystemExit: none of that.
    """
    context = click.get_current_context(silent=True)
    if context is None or context.info_name != "flower" or may_be_open:
        return
    if is_open_to_strangers(tornado_options):
        sys.exit(
            "coatcheck cannot start Flower:\n"
            f"it listens on {tornado_options.address or 'every address'}, so FLOWER_BASIC_AUTH (user:password) or"
            " FLOWER_AUTH with FLOWER_AUTH_PROVIDER must be set; or set FLOWER_ADDRESS=127.0.0.1"
        )


def is_open_to_strangers(options: Any) -> bool:
    """Anybody who can reach Flower with these options may use it, and not only this machine can."""
    if options.unix_socket or _is_loopback(options.address):
        return False
    is_guarded = any(options.basic_auth or ()) or bool(options.auth and options.auth_provider)
    return not is_guarded


def _is_loopback(address: str) -> bool:
    """No address at all is every address."""
    if address in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
