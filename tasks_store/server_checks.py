"""Whether the server can keep what it is given: asked once, when a process starts."""

import logging
import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from redis.cluster import RedisCluster

from coatcheck.tasks_store.connections import Client, Patience, connector, driver_errors_translated
from coatcheck.tasks_store.errors import StoreForbidden, StoreRefused, StoreUnavailable, UnfitStore
from coatcheck.tasks_store.settings import StoreSettings

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


FORGETFUL = (
    "A restart of Redis forgets all tasks, those that wait for an answer too: it keeps nothing on disk"
    " (appendonly is no, and save is empty); set appendonly to yes."
)
SNAPSHOTS = (
    "A crash of Redis forgets the tasks since its last snapshot: appendonly is no; set it to yes, so that it forgets"
    " the last second at most."
)
UNSEEN_SNAPSHOTS = (
    "The append-only file of Redis is off, and its user may not read CONFIG: whether it makes snapshots, and so keeps"
    " tasks over a restart, was not looked at."
)
UNSEEN = (
    "The user of REDIS_URL may not use INFO: version, maxmemory-policy and persistence of the server were not looked"
    " at. It should be 6.2 or newer, with noeviction and appendonly yes."
)


@dataclass(slots=True)
class Fitness:
    """What was seen of a server; both are empty when it is fit, and when it does not answer now."""

    faults: set[str] = field(default_factory=set)
    """Why it could lose what it was given while it runs, one sentence each."""
    doubts: set[str] = field(default_factory=set)
    """What else its operator should know: what a restart costs, and what could not be looked at."""


def refuse_unfit_store(settings: StoreSettings) -> None:
    """Refuse a server that could drop records, unless the settings say that a warning will do; warn of the rest.

    A server that does not answer yet is let through.

    Raises:
        UnfitStore: naming everything that is wrong.
        InvalidStoreUrl: the address cannot be understood.
    """
    if settings.redis_url.startswith("rediss:") and not settings.redis_tls_verify:
        logger.warning("COATCHECK_REDIS_TLS_VERIFY=false: the connection to Redis is encrypted, its server unverified")
    found = unfitness(settings)
    if found.faults and settings.unfit_store == "refuse":
        raise UnfitStore(sorted(found.faults))
    for fault in sorted(found.faults | found.doubts):
        logger.warning("%s", fault)


def unfitness(settings: StoreSettings) -> Fitness:
    """Return why this server could lose records.

    Raises:
        InvalidStoreUrl: the address cannot be understood.
    """
    connect = connector(settings, Patience.DOOR)
    found = Fitness()
    try:
        with driver_errors_translated():
            client = connect()
            try:
                _look(client, settings, found)
            finally:
                client.close()
    except StoreForbidden as fault:
        found.doubts.add(str(fault))
    except StoreRefused as fault:
        found.doubts.add(f"Redis takes no commands now: {fault}.")
    except StoreUnavailable as fault:
        return Fitness({UNTRUSTED}) if _is_untrusted(fault) else Fitness()
    if settings.durability == "strict" and settings.redis_url.startswith("redis+cluster:"):
        found.faults.add(
            "COATCHECK_DURABILITY=strict is not possible on a Redis Cluster, which cannot confirm for one slot."
        )
    return found


def _look(client: Client, settings: StoreSettings, found: Fitness) -> None:
    try:
        with driver_errors_translated():
            infos = _of_each(client, "info")
    except StoreForbidden:
        found.doubts.add(UNSEEN)
        return
    found.faults |= {fault for info in infos for fault in _faults(info, settings)}
    if settings.durability == "strict" or all(info.get("aof_enabled") for info in infos):
        return  # a strict store has had its verdict on the append-only file
    try:
        with driver_errors_translated():
            has_snapshots = all(config.get("save") for config in _of_each(client, "config_get", "save"))
    except StoreForbidden:
        found.doubts.add(UNSEEN_SNAPSHOTS)
    else:
        found.doubts.add(SNAPSHOTS if has_snapshots else FORGETFUL)


def _is_untrusted(fault: BaseException) -> bool:
    """The server answered, and its certificate was refused."""
    cause: BaseException | None = fault
    while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
        cause = cause.__cause__ or cause.__context__
    return cause is not None


def _of_each(client: Client, command: str, *arguments: str) -> list[dict[str, Any]]:
    """Return what each server says: each primary of a cluster, or the one that there is."""
    ask = getattr(client, command)
    if isinstance(client, RedisCluster):
        by_node: dict[str, dict[str, Any]] = ask(*arguments, target_nodes=RedisCluster.PRIMARIES)
        return list(by_node.values())
    return [ask(*arguments)]


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
