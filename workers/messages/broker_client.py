"""Reuse the Redis client of a broker channel for all its messages."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kombu.transport.redis import Channel


def keep_client(channel: Any) -> None:
    """Let a channel of Redis use one client, which takes connections from the channel's pool. Ignore other channels.

    kombu makes a client for each command, with a table of 150 callbacks, which is a seventh of the cost of creating a
    task. A channel that reconnects has another pool, and gets another client.
    """
    if "conn_or_acquire" in vars(channel) or not isinstance(channel, Channel):
        return
    ours: Any = channel  # its type stubs lack the internals
    kept: Any = None

    @contextmanager
    def conn_or_acquire(client: Any = None) -> Iterator[Any]:
        nonlocal kept
        if client is None:
            if kept is None or kept.connection_pool is not ours.pool:
                kept = ours._create_client()  # as kombu's own method does
            client = kept
        yield client

    ours.conn_or_acquire = conn_or_acquire
