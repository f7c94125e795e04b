"""What `REDIS_URL` may say."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from redis import Redis

NOT_UNDERSTOOD = "cannot be understood; special characters in a password are written as %XX, and a port is a number"

PARAMETERS: Final[Mapping[str, frozenset[str]]] = {
    "redis": frozenset(),
    "rediss": frozenset(),
    "unix": frozenset({"db"}),
    "redis+sentinel": frozenset({"sentinel_password"}),
    "redis+cluster": frozenset(),
    "redis+socket": frozenset({"virtual_host"}),
}
"""The parameters that each scheme of a Redis has, for the store, the broker and the result backend alike. What only one
of their drivers knows is refused, so that no address means one thing here and another there."""

INSTEAD: Final[Mapping[str, str]] = {
    "db": "write the number of the database behind the host, as in redis://host:6379/3",
    "ssl_ca_certs": "set COATCHECK_REDIS_CA_FILE to that file instead",
    "ssl_cert_reqs": "set COATCHECK_REDIS_TLS_VERIFY instead",
    "ssl_check_hostname": "set COATCHECK_REDIS_TLS_VERIFY instead",
}
"""What to do instead of setting a parameter that an address must not have."""

_PARAMETER: Final = re.compile(r"[a-z]+(_[a-z]+)+|db|protocol|timeout")
"""How drivers name parameters. What looks otherwise may be a part of a password, and is not repeated."""


@dataclass(frozen=True, slots=True)
class SentinelAddress:
    """`redis+sentinel://[:password@]host:port[,host:port…]/service[/db]`, as most Redis clients write it."""

    hosts: tuple[tuple[str, int], ...]
    service: str
    database: int
    username: str | None
    password: str | None
    sentinel_password: str | None

    @classmethod
    def of(cls, url: str) -> "SentinelAddress":
        """The address in its parts. Raises ValueError when it cannot be understood."""
        parts = urlsplit(url)
        service, _, database = parts.path.strip("/").partition("/")
        hosts = []
        for piece in parts.netloc.rpartition("@")[2].split(","):
            host, _, port = piece.partition(":")
            if not 0 < (number := int(port or 26379)) < 65_536:
                raise ValueError("a port is from 1 to 65535")
            hosts.append((host, number))
        return cls(
            tuple(hosts),
            service,
            int(database or 0),
            unquote(parts.username) if parts.username else None,
            unquote(parts.password) if parts.password else None,
            dict(parse_qsl(parts.query)).get("sentinel_password"),
        )


def fault_of(url: str) -> str:
    """What is wrong with the address, without a word of it that may be secret; nothing when it can be used."""
    try:
        scheme = urlsplit(url).scheme
        if scheme in ("redis", "rediss", "unix"):
            Redis.from_url(url)
        elif scheme == "redis+cluster":
            Redis.from_url(url.replace("redis+cluster://", "redis://", 1))
        elif scheme == "redis+sentinel":
            if not SentinelAddress.of(url).service:
                return "names no service; write redis+sentinel://host:26379,host:26379/service/0"
        else:
            return "has an unknown scheme; use redis://, rediss://, unix://, redis+sentinel:// or redis+cluster://"
        return fault_of_parameters(url)
    except ValueError:
        return NOT_UNDERSTOOD


def fault_of_parameters(url: str) -> str:
    """Return what is wrong with the parameters and the database of a Redis address, or nothing.

    Raises:
        ValueError: the address cannot be understood.
    """
    parts = urlsplit(url)
    known = PARAMETERS[parts.scheme]
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name in given:
        if name not in known:
            shown = f"the parameter {name}" if _PARAMETER.fullmatch(name) else "a parameter that is not known"
            return f"has {shown}; {INSTEAD.get(name, 'leave it out, this program sets it by itself')}"
    path = parts.path.strip("/")
    if parts.scheme == "unix" and not path:
        return "names no socket; write unix:///run/redis.sock"
    if parts.scheme == "redis+cluster" and path not in ("", "0"):
        return "names a database, and a cluster has one only; leave it out"
    database = {"unix": given.get("db", ""), "redis+sentinel": path.partition("/")[2]}.get(parts.scheme, path)
    if parts.scheme != "redis+socket" and not (database or "0").isdecimal():
        return "names no database; behind the host comes its number, as in redis://host:6379/0"
    return ""
