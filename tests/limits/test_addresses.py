"""Which address an unknown caller has."""

from ipaddress import ip_network
from typing import Any

import pytest

from coatcheck.web.access.client_address import client_address

PROXIES = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("203.0.113.7", None, "203.0.113.7"),
        ("203.0.113.7", "198.51.100.1", "203.0.113.7"),
        ("10.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "1.1.1.1, 198.51.100.1", "198.51.100.1"),
        ("10.0.0.1", "1.1.1.1, 198.51.100.1,10.2.3.4", "198.51.100.1"),
        ("10.0.0.1", "10.0.0.2", "10.0.0.2"),
        ("10.0.0.1", "", "10.0.0.1"),
        ("10.0.0.1", "not an address", "unknown"),
        ("fd00::1", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", None, "2001:db8:1:2::/64"),
        ("::ffff:203.0.113.7", None, "203.0.113.7"),
        ("", None, "unknown"),
    ],
)
def test_proxies_that_are_trusted_tell_the_address_and_nobody_else_does(
    peer: str, forwarded: str | None, address: str
) -> None:
    environ: dict[str, Any] = {"REMOTE_ADDR": peer}
    if forwarded is not None:
        environ["HTTP_X_FORWARDED_FOR"] = forwarded
    assert client_address(environ, PROXIES) == address


def test_without_trusted_proxies_the_header_means_nothing() -> None:
    environ = {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": "198.51.100.1"}
    assert client_address(environ, ()) == "10.0.0.1"
