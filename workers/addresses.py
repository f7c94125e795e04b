"""Addresses of servers as Celery spells them, and whether it can use them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from celery import Celery
from celery.app.backends import by_url
from celery.exceptions import ImproperlyConfigured
from celery.loaders.app import AppLoader
from kombu import Connection
from kombu.utils.url import url_to_parts

from coatcheck.tasks_store.address import NOT_UNDERSTOOD, PARAMETERS, SentinelAddress, fault_of_parameters

LOADER: Final[Any] = AppLoader(app=None)  # type: ignore[arg-type]  # it has an application only to load its modules
"""Finds result backends by their schemes."""


LOOPBACK: Final = ("127.0.0.1", "::1")
"""Addresses that `localhost` is a name of."""

UNPICKLING: Final = {"db": "DatabaseBackend", "database": "DatabaseBackend", "cache": "CacheBackend"}
"""Celery's result backends whose drivers unpickle what they read, by the beginnings of their addresses."""


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
        address = SentinelAddress.of(url)
        login = "".join(parts.netloc.rpartition("@")[:2])
        options: dict[str, Any] = {"master_name": address.service}
        if address.sentinel_password:
            options["sentinel_kwargs"] = {"password": address.sentinel_password}
        places = [f"{host}:{port}" for host, port in address.hosts]
        return Address(";".join(f"sentinel://{login}{place}/{address.database}" for place in places), options)
    return Address(url)


def places(url: str) -> list[tuple[str, ...]]:
    """Return where the address of a broker leads, whatever it is spelled like: kind, host, port and database of each.

    Two names of one machine are two places, but for those of this one.
    """
    found: list[tuple[str, ...]] = []
    for one in address_of(url).url.split(";"):
        scheme, _, rest = one.partition("://")
        if scheme == "redis+socket":
            path, _, query = rest.partition("?")
            found.append(("redis", path, "", parse_qs(query).get("virtual_host", ["0"])[0]))
            continue
        connection: Any = Connection(one)
        kind = {"rediss": "redis", "amqps": "amqp", "pyamqp": "amqp"}.get(scheme, scheme)
        host = "localhost" if connection.hostname in LOOPBACK else connection.hostname or "localhost"
        port = connection.port or connection.transport.default_port
        at = str(connection.virtual_host or "").strip("/")
        found.append((kind, host, str(port), at or ("" if kind == "amqp" else "0")))
    return sorted(found)


def broker_of(app: Celery) -> str:
    """Return the address from which workers of an application take messages; several with semicolons between them."""
    connection: Any = app.connection_for_read()
    return ";".join(connection.alt) or str(app.conf.broker_read_url or connection.as_uri(include_password=True))


def broker_fault(url: str) -> str:
    """Why Celery cannot use this broker, without a word of its address that may be secret; nothing when it can.

    Nothing is connected.
    """
    return _fault(
        url, lambda address: Connection(address.url), "redis://, rediss://, unix://, redis+sentinel:// or amqp://"
    )


def results_fault(url: str) -> str:
    """The same of a result backend."""

    def understood(address: Address) -> None:
        by_url(address.url, LOADER)
        if address.is_redis:
            for one in address.url.split(";"):
                url_to_parts(one)

    return _fault(url, understood, "redis://, rediss://, unix:// or redis+sentinel://")


def unpickled_by(url: str) -> str:
    """Return the name of the result backend of this address, if it unpickles what it reads by itself; else nothing.

    `accept_content` means nothing to such a backend: SQLAlchemy keeps results as pickles, and clients of memcached load
    whatever a value's flags say is one. So whoever writes there runs code in the process that reads.
    """
    kind = url.partition("://")[0].partition("+")[0]
    if kind in UNPICKLING:  # its driver need not be installed
        return UNPICKLING[kind]
    found: Any = by_url(address_of(url).url, LOADER)  # its types miss the second of the two
    backend = found[0]
    names = {base.__name__ for base in backend.__mro__ if base.__module__.startswith("celery.backends.")}
    return str(backend.__name__) if names & set(UNPICKLING.values()) else ""


def _fault(url: str, use: Callable[[Address], object], usual: str) -> str:
    scheme = url.partition("://")[0]
    if scheme == "redis+cluster":
        return "is a Redis Cluster, which Celery cannot use"
    unknown = f"has a scheme that Celery does not know; use {usual}"
    try:
        address = address_of(url)
        if scheme == "redis+sentinel" and not address.options["master_name"]:
            return "names no service; write redis+sentinel://host:26379,host:26379/service/0"
        if scheme in PARAMETERS and (fault := fault_of_parameters(url)):
            return fault
        use(address)
    except (KeyError, ImproperlyConfigured):
        return unknown
    except TypeError:
        return "has a parameter that Celery does not know; leave out what follows the question mark"
    except ImportError as missing:
        if missing.name == scheme:
            return unknown  # Celery takes what it does not know for a module
        return f"needs the Python module {missing.name}, which is not there; usual are {usual}"
    except (AttributeError, ValueError):
        return NOT_UNDERSTOOD
    return ""
