"""A Redis client that is kept by a channel of the broker, instead of made anew for every message."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kombu.transport.redis import Channel


def keep_client(channel: Any) -> None:
    """The channel, if it is one of Redis, sends everything by one client, which takes connections from its pool.

    kombu makes a client for each command, with a table of a hundred and fifty callbacks in it: a seventh of what it
    costs to create a task. A channel that had to connect again has another pool, and gets another client.
    """
    if "conn_or_acquire" in vars(channel) or not isinstance(channel, Channel):
        return
    ours: Any = channel  # the types of its class know nothing of its insides
    kept: Any = None

    @contextmanager
    def conn_or_acquire(client: Any = None) -> Iterator[Any]:
        nonlocal kept
        if client is None:
            if kept is None or kept.connection_pool is not ours.pool:
                kept = ours._create_client()  # what kombu's own method calls
            client = kept
        yield client

    ours.conn_or_acquire = conn_or_acquire
