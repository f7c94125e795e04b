"""Convert and check the addresses of brokers and result backends for Celery."""

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

LOADER: Final[Any] = AppLoader(app=None)  # type: ignore[arg-type]  # it uses an application only to load its modules
"""Finds the class of a result backend by the scheme of its address."""


LOOPBACK: Final = ("127.0.0.1", "::1")
"""Addresses of `localhost`."""

UNPICKLING: Final = {"db": "DatabaseBackend", "database": "DatabaseBackend", "cache": "CacheBackend"}
"""Celery's result backends whose drivers unpickle what they read, by scheme."""


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a broker or a result backend in Celery's form."""

    url: str
    options: dict[str, Any] = field(default_factory=dict)
    """Transport options that the address implies."""

    @property
    def is_redis(self) -> bool:
        """Whether this is a single Redis, or one behind Sentinel."""
        return self.url.startswith(("redis", "sentinel"))

    @property
    def is_tls(self) -> bool:
        """Whether the connection uses TLS."""
        return self.url.startswith("rediss")


def address_of(url: str) -> Address:
    """Return the address in Celery's form.

    `unix://…` and `redis+sentinel://[:password@]host:port[,host:port…]/service[/db]` are accepted as for the store. The
    address of a Redis Cluster is not changed: Celery cannot use one.
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
    """Return kind, host, port and database of each server in the address of a broker, in a form that can be compared.

    Two names of one machine count as two servers, except for those of this machine.
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
    """Return the address from which workers of an application consume messages; several are separated by semicolons."""
    connection: Any = app.connection_for_read()
    return ";".join(connection.alt) or str(app.conf.broker_read_url or connection.as_uri(include_password=True))


def broker_fault(url: str) -> str:
    """Return why Celery cannot use this broker, without secret parts of the address; empty if it can.

    Does not connect.
    """
    return _fault(
        url, lambda address: Connection(address.url), "redis://, rediss://, unix://, redis+sentinel:// or amqp://"
    )


def results_fault(url: str) -> str:
    """Return why Celery cannot use this result backend; as `broker_fault`."""

    def understood(address: Address) -> None:
        by_url(address.url, LOADER)
        if address.is_redis:
            for one in address.url.split(";"):
                url_to_parts(one)

    return _fault(url, understood, "redis://, rediss://, unix:// or redis+sentinel://")


def unpickled_by(url: str) -> str:
    """Return the name of the result backend at this address if it unpickles what it reads; else an empty string.

    `accept_content` has no effect on such a backend: SQLAlchemy stores results as pickles, and clients of memcached
    unpickle every value with the flag for it. So anyone who can write there can run code in the process that reads.
    """
    kind = url.partition("://")[0].partition("+")[0]
    if kind in UNPICKLING:  # without an import, as the driver may not be installed
        return UNPICKLING[kind]
    found: Any = by_url(address_of(url).url, LOADER)  # its type stub lacks the second item
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
            return unknown  # Celery takes an unknown scheme for a module
        return f"needs the Python module {missing.name}, which is not there; usual are {usual}"
    except (AttributeError, ValueError):
        return NOT_UNDERSTOOD
    return ""
