"""Addresses of servers as Celery spells them."""

from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True, slots=True)
class Address:
    """What Celery needs to find a broker or a result backend."""

    url: str
    options: dict[str, Any] = field(default_factory=dict)
    """Transport options that belong to the address."""

    @property
    def is_redis(self) -> bool:
        """True for a single Redis and for one behind Sentinel."""
        return self.url.startswith(("redis", "sentinel"))

    @property
    def is_tls(self) -> bool:
        """True when the server proves who it is by a certificate."""
        return self.url.startswith("rediss")


def address_of(url: str) -> Address:
    """The address in Celery's spelling.

    `unix://…` and `redis+sentinel://[:password@]host:port[,host:port…]/service[/db]` are spelled as for the store. A
    Redis Cluster stays as it is: Celery cannot use one.
    """
    parts = urlsplit(url)
    if parts.scheme == "unix":
        database = parse_qs(parts.query).get("db", ["0"])[0]
        return Address(f"redis+socket://{parts.netloc}{parts.path}?virtual_host={database}")
    if parts.scheme == "redis+sentinel":
        who, _, hosts = parts.netloc.rpartition("@")
        service, _, database = parts.path.strip("/").partition("/")
        login = f"{who}@" if who else ""
        places = [host if ":" in host else f"{host}:26379" for host in hosts.split(",")]
        options: dict[str, Any] = {"master_name": service}
        if password := parse_qs(parts.query).get("sentinel_password"):
            options["sentinel_kwargs"] = {"password": password[0]}
        return Address(";".join(f"sentinel://{login}{place}/{database or 0}" for place in places), options)
    return Address(url)
