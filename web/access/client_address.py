"""Which address a request came from. Pure."""

from collections.abc import Mapping, Sequence
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

from coatcheck.web.settings.limits import Network


def client_address(environ: Mapping[str, Any], trusted: Sequence[Network]) -> str:
    """The address of the client, as far as proxies that are trusted tell it. IPv6: its network, which is one household.

    Each proxy adds the address that it was called from at the end; the first from there that is no trusted proxy's is
    the client's. What stands before it anybody can have written.
    """
    hops = [hop.strip() for hop in environ.get("HTTP_X_FORWARDED_FOR", "").split(",") if hop.strip()]
    address = environ.get("REMOTE_ADDR", "")
    while hops and _is_trusted(address, trusted):
        address = hops.pop()
    return _household(address)


def _is_trusted(address: str, trusted: Sequence[Network]) -> bool:
    if not trusted:
        return False
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    return any(parsed in network for network in trusted)


def _household(address: str) -> str:
    try:
        parsed = ip_address(address)
    except ValueError:
        return "unknown"  # a unix socket, or a forwarded header that is none
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ip_network((parsed, 64), strict=False))
