"""Whether the server can keep what it is given: asked once, when a process starts."""

import logging
import ssl
from collections.abc import Iterator
from typing import Any

from redis.cluster import RedisCluster

from tasks_store.client import Client, Patience, connector, driver_errors_translated
from tasks_store.errors import StoreUnavailable, UnfitStore
from tasks_store.settings import StoreSettings

logger = logging.getLogger(__name__)

OLDEST = (6, 2)
"""The oldest version whose commands the scripts use."""

OLDEST_STRICT = (7, 2)
"""The oldest version that confirms a write to disk."""


UNTRUSTED = (
    "The certificate of the server at REDIS_URL cannot be verified; name the authority that signed it in"
    " COATCHECK_REDIS_CA_FILE, or set COATCHECK_REDIS_TLS_VERIFY=false where the platform hands out self-signed ones."
)
"""What is said of a `rediss://` server that is not known to be the right one."""


def refuse_unfit_store(settings: StoreSettings) -> None:
    """The server is fit to keep tasks, or does not answer yet, or the settings say that a warning will do.

    Raises:
        UnfitStore: naming everything that is wrong.
        InvalidStoreUrl: the address cannot be understood.
    """
    if settings.redis_url.startswith("rediss:") and not settings.redis_tls_verify:
        logger.warning("COATCHECK_REDIS_TLS_VERIFY=false: the connection to Redis is encrypted, its server unverified")
    faults = unfitness(settings)
    if faults and settings.unfit_store == "refuse":
        raise UnfitStore(faults)
    for fault in faults:
        logger.warning("%s", fault)


def unfitness(settings: StoreSettings) -> list[str]:
    """Why this server could lose records, one sentence each; empty when it is fit, and when it does not answer now.

    Raises:
        InvalidStoreUrl: the address cannot be understood.
    """
    connect = connector(settings, Patience.DOOR)
    try:
        with driver_errors_translated():
            client = connect()
            found = {fault for info in _infos(client) for fault in _faults(info, settings)}
            client.close()
    except StoreUnavailable as fault:
        return [UNTRUSTED] if _is_untrusted(fault) else []
    if isinstance(client, RedisCluster) and settings.durability == "strict":
        found.add("COATCHECK_DURABILITY=strict is not possible on a Redis Cluster, which cannot confirm for one slot.")
    return sorted(found)


def _is_untrusted(fault: BaseException) -> bool:
    """The server answered, and its certificate was refused."""
    cause: BaseException | None = fault
    while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
        cause = cause.__cause__ or cause.__context__
    return cause is not None


def _infos(client: Client) -> list[dict[str, Any]]:
    if isinstance(client, RedisCluster):
        by_node: dict[str, dict[str, Any]] = client.info(target_nodes=RedisCluster.PRIMARIES)
        return list(by_node.values())
    info: dict[str, Any] = client.info()
    return [info]


def _faults(info: dict[str, Any], settings: StoreSettings) -> Iterator[str]:
    version = tuple(int(part) for part in str(info["redis_version"]).split(".")[:2])
    policy = info.get("maxmemory_policy", "noeviction")
    if version < OLDEST:
        yield f"Redis {info['redis_version']} is too old; 6.2 or newer is needed."
    if policy != "noeviction":
        yield (
            f"Redis drops keys when its memory is full (maxmemory-policy is {policy}), and with them tasks that were"
            " promised; set it to noeviction."
        )
    if settings.durability == "strict":
        if version < OLDEST_STRICT and "valkey_version" not in info:
            yield f"COATCHECK_DURABILITY=strict needs Redis 7.2 or newer, and this is {info['redis_version']}."
        elif not info.get("aof_enabled"):
            yield "COATCHECK_DURABILITY=strict needs the append-only file, and appendonly is off."
