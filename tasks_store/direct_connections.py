"""A shorter way to the server than the driver's pool, for one command at a time."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from redis import Redis, exceptions
from redis.sentinel import SentinelConnectionPool

from coatcheck.tasks_store.connections import Client
from coatcheck.tasks_store.errors import StoreUnavailable

WAIT_S: Final = 10.0
"""How long a command waits for a connection when all are in use and the server answers: a burst takes its time."""


class DirectConnections:
    """Connections of one process, each used by one thread at a time, and no more than so many at a time.

    What the driver does around each command costs as much again as the command: 90 µs of CPU against 43 for an
    `EVALSHA`. Its timeouts and retries are those of its connections, and hold here too. A cluster and Sentinel have
    their own ways to find the server.
    """

    def __init__(self, client: Client, most: int) -> None:
        self._client = client
        self._free = threading.BoundedSemaphore(most)
        self._failed_at = float("-inf")
        self._large = threading.BoundedSemaphore(max(1, most // 8))
        self._idle: list[Any] = []  # the driver's connections have no types

    @contextmanager
    def client(self) -> Iterator[Client]:
        """Hold the driver's client for one command or pipeline at a time. Raises the driver's ConnectionError."""
        if not self._free.acquire(blocking=False):
            self._wait()
        try:
            yield self._client
        except (exceptions.ConnectionError, exceptions.TimeoutError):
            self._failed_at = time.monotonic()
            raise
        finally:
            self._free.release()

    def _wait(self) -> None:
        began = time.monotonic()
        if not self._free.acquire(timeout=WAIT_S):
            raise exceptions.ConnectionError("all connections of this process are in use (COATCHECK_REDIS_CONNECTIONS)")
        if self._failed_at > began:
            self._free.release()
            raise exceptions.ConnectionError("the server did not answer others meanwhile")

    @contextmanager
    def large(self) -> Iterator[None]:
        """Hold a turn for what takes a connection for long; an eighth of them are for that. Raises StoreUnavailable."""
        if not self._large.acquire(timeout=WAIT_S):
            raise StoreUnavailable("too many large results are being read")
        try:
            yield
        finally:
            self._large.release()

    def execute(self, *command: str | bytes | int) -> Any:
        """The server's reply.

        A line that was closed while it was idle shows only when it is used: that is what the first retry is for.
        """
        with self.client() as client:
            return self._execute(client, *command)

    def _execute(self, client: Any, *command: str | bytes | int) -> Any:
        if not isinstance(client, Redis) or isinstance(client.connection_pool, SentinelConnectionPool):
            return client.execute_command(*command)
        try:
            line = self._idle.pop()
        except IndexError:
            pool = client.connection_pool
            line = pool.connection_class(**pool.connection_kwargs)
        packed = line.pack_command(*command)

        def ask() -> Any:
            line.send_packed_command(packed)
            return line.read_response()

        try:
            reply = line.retry.call_with_retry(ask, lambda _fault: line.disconnect())
        except exceptions.ResponseError:
            self._idle.append(line)  # the reply was an error, and was read whole
            raise
        except BaseException:
            # Whatever interrupted us, a time limit even: the reply may still come, and is nobody else's.
            line.disconnect()
            raise
        self._idle.append(line)
        return reply

    def close(self) -> None:
        """No connection is left open."""
        while self._idle:
            self._idle.pop().disconnect()
        self._client.close()
