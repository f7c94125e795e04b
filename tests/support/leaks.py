"""Finds what a test left behind: keys, index entries, threads."""

import re
import threading
from collections.abc import Iterable

from redis import Redis

from coatcheck.tasks_store import keys

FOREVER = re.compile(r"coatcheck:\{[0-7]\}:due|coatcheck:\{fleet\}:workers|coatcheck:\{fleet\}:counts|coatcheck:secret")
"""Our keys that may live without a TTL: their entries go one by one, or there is one per deployment."""

BROKERS = re.compile(r"coatcheck:broker:.*|_kombu\..*|unacked.*|celery.*|.*\.pidbox")
"""Keys of the message broker, which are its own affair."""


def leaked_keys(client: Redis) -> list[str]:
    """A line for each key without a TTL, index entry without a record, record without an index entry, or companion
    that outlived its task."""
    found = []
    names = {name.decode() for name in client.scan_iter(count=1_000)}
    entries: list[bytes] = [entry for index in keys.DUE for entry in client.zrange(index, 0, -1)]  # type: ignore[misc]
    indexed = {entry.decode() for entry in entries}
    records = {name.rpartition(":")[2]: name for name in names if ":task:" in name}
    for name in sorted(names):
        if client.ttl(name) == -1 and not FOREVER.fullmatch(name) and not BROKERS.fullmatch(name):
            found.append(f"{name} has no TTL")
        if re.search(r":(inputs|steps):", name):
            record = records.get(name.rpartition(":")[2])
            if record is None or client.hget(record, "phase") == b"done":
                found.append(f"{name} outlived its task")
    found += [f"{entry} is indexed and has no record" for entry in sorted(indexed - set(records))]
    found += [f"{task_id} has a record and is not indexed" for task_id in sorted(set(records) - indexed)]
    for kind in ("owner", "tenant"):
        listed = _listed(client, names, kind)
        found += [f"{task_id} is listed by {kind} and has no record" for task_id in sorted(listed - set(records))]
        found += [f"{task_id} has a record and is not listed by {kind}" for task_id in sorted(set(records) - listed)]
    return found


def _listed(client: Redis, names: Iterable[str], kind: str) -> set[str]:
    """The ids in all lists of this kind."""
    found = set()
    for name in names:
        if of := re.fullmatch(rf"coatcheck:{{([0-7])}}:{kind}:[0-9a-f]+", name):
            entries: list[bytes] = client.zrange(name, 0, -1)  # type: ignore[assignment]
            found |= {keys.listed_id(int(of[1]), entry) for entry in entries}
    return found


def left_threads(before: Iterable[threading.Thread]) -> list[str]:
    """The names of threads that run and did not run before."""
    known = set(before)
    return [thread.name for thread in threading.enumerate() if thread not in known]
