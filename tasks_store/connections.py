"""Connections to Redis: the one place where addresses, timeouts and retries are chosen."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from functools import partial
from typing import Any, cast
from urllib.parse import urlsplit

from redis import Redis, exceptions
from redis.backoff import ExponentialBackoff, NoBackoff
from redis.cluster import RedisCluster
from redis.retry import Retry
from redis.sentinel import Sentinel

from coatcheck.tasks_store.address import SentinelAddress, fault_of
from coatcheck.tasks_store.errors import (
    InvalidStoreUrl,
    StoreForbidden,
    StoreMisaddressed,
    StoreRefused,
    StoreUnavailable,
)
from coatcheck.tasks_store.keys import FEED, PREFIX
from coatcheck.tasks_store.settings import StoreSettings

Client = Redis | RedisCluster

REFUSALS = ("OOM", "READONLY", "MISCONF", "LOADING", "NOREPLICAS", "MASTERDOWN")
"""How Redis begins the errors that mean "not now", also when they come out of a script."""


FORBIDDEN = ("ACL failure in script", "The user executing the script")
"""How Redis begins the errors that mean "this user may not", when they come out of a script."""


class Patience(Enum):
    """How long a caller would rather wait than hear that the store is away: seconds to connect, to reply; retries."""

    DOOR = (0.8, 0.8, 1)
    """A person waits: one quick second try, for a connection that died while it was idle; an answer within 3 s."""
    WORKER = (2.0, 3.0, 10)
    """A job waits: a restart of Redis of up to 8 s is ridden out."""
    READER = (5.0, 5.0, 0)
    """A reader on a connection of its own, which says at each reading how long it waits for the next message."""


NO_DATABASE = ("DB index is out of range", "invalid DB index", "SELECT is not allowed")
"""How Redis begins the errors that mean "there is no database of this number"."""


def connector(settings: StoreSettings, patience: Patience) -> Callable[[], Client]:
    """What makes clients for the configured store, each with connections and locks of its own.

    Making one connects only where the store is a cluster, whose layout is read first; any other client connects when
    it is first used. Commands may be sent twice after a lost connection; every script of this folder is safe to send
    twice.

    Raises:
        InvalidStoreUrl: the scheme is unknown or the address incomplete.
    """
    connect_timeout, timeout, retries = patience.value
    options: dict[str, Any] = {
        "socket_timeout": timeout,
        "socket_connect_timeout": connect_timeout,
        "retry": Retry(ExponentialBackoff(cap=1.0, base=0.1) if retries > 1 else NoBackoff(), retries),
        "max_connections": 10_000,
        "client_name": "coatcheck",
        "protocol": 2,
    }
    url = settings.redis_url
    if fault := fault_of(url):
        raise InvalidStoreUrl(fault)
    scheme = urlsplit(url).scheme
    if scheme != "unix":
        options["socket_keepalive"] = True
    if scheme == "rediss":
        options |= settings.tls_options
    if scheme == "redis+sentinel":
        return partial(_sentinel, SentinelAddress.of(url), options)
    if scheme == "redis+cluster":
        return partial(RedisCluster.from_url, url.replace("redis+cluster://", "redis://", 1), **options)
    return partial(Redis.from_url, url, **options)


@contextmanager
def driver_errors_translated() -> Iterator[None]:
    """What the driver raises inside the block leaves it as an error of this folder."""
    try:
        yield
    except exceptions.NoPermissionError as fault:
        raise _forbidden(fault) from fault
    except (exceptions.ReadOnlyError, exceptions.OutOfMemoryError, exceptions.BusyLoadingError) as fault:
        raise StoreRefused(str(fault)) from fault
    except (exceptions.ClusterDownError, exceptions.RedisClusterException) as fault:
        raise StoreUnavailable(str(fault)) from fault
    except (exceptions.ConnectionError, exceptions.TimeoutError) as fault:
        raise StoreUnavailable(str(fault)) from fault
    except exceptions.MovedError as fault:
        raise StoreMisaddressed("leads to a node of a cluster; write redis+cluster://host:port") from fault
    except exceptions.ResponseError as fault:
        if str(fault).startswith(FORBIDDEN):
            raise _forbidden(fault) from fault
        if str(fault).startswith(NO_DATABASE):
            raise StoreMisaddressed(f"names a database that the server does not have: {fault}") from fault
        if not str(fault).startswith(REFUSALS):
            raise
        raise StoreRefused(str(fault)) from fault


def _forbidden(fault: exceptions.ResponseError) -> StoreForbidden:
    """Return the error that names the right: the command by Redis's own words, keys and channels by ours."""
    words = str(fault).partition(" script: on ")[0].removeprefix("ACL failure in script: ")
    if "channel" in words:
        words += f": {FEED}"
    elif "key" in words:
        words += f": {PREFIX}:*"
    return StoreForbidden(f"The user of REDIS_URL lacks a right on the server: {words}")


def _sentinel(address: SentinelAddress, options: dict[str, Any]) -> Redis:
    """A client for the master that these sentinels name."""
    asking = {
        "password": address.sentinel_password,
        "socket_timeout": 1.0,
        "socket_connect_timeout": 1.0,
        "retry": Retry(NoBackoff(), 0),  # the next sentinel is the second try
    }
    sentinel = Sentinel(  # type: ignore[no-untyped-call]
        list(address.hosts),
        sentinel_kwargs=asking,
        username=address.username,
        password=address.password,
        db=address.database,
        **options,
    )
    return cast("Redis", sentinel.master_for(address.service))  # type: ignore[no-untyped-call]
