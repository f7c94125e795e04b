"""Find the address of a request's client. Pure."""

from collections.abc import Mapping, Sequence
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

from coatcheck.web.settings.limits import Network


def client_address(environ: Mapping[str, Any], trusted: Sequence[Network]) -> str:
    """Return the client's address as trusted proxies report it; of IPv6 the /64 network, which is one household.

    Each proxy appends the address of its peer. From the end, the first address that is not a trusted proxy's is the
    client's; anything before it can be forged.
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
