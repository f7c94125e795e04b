"""What stands in the store, whatever kind of key it is in."""

from collections.abc import Callable
from typing import Any

from redis import Redis


def names(client: Redis) -> list[str]:
    """All keys."""
    return [name.decode() for name in client.scan_iter(count=1_000)]


def contents(client: Redis, name: str) -> bytes:
    """All that is in a key, and its name."""
    read: dict[bytes, Callable[[str], Any]] = {
        b"hash": client.hgetall,
        b"zset": lambda key: client.zrange(key, 0, -1),
        b"set": client.smembers,
        b"list": lambda key: client.lrange(key, 0, -1),
        b"string": client.get,
    }
    kind: Any = client.type(name)
    return f"{name} {read[kind](name)!r}".encode()
