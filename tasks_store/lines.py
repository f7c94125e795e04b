"""A shorter way to the server than the driver's pool, for one command at a time."""

from typing import Any

from redis import Redis, exceptions
from redis.sentinel import SentinelConnectionPool

from tasks_store.client import Client


class Lines:
    """Connections of one process, each used by one thread at a time.

    What the driver does around each command costs as much again as the command: 90 µs of CPU against 43 for an
    `EVALSHA`. Its timeouts and retries are those of its connections, and hold here too. A cluster and Sentinel have
    their own ways to find the server.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self._idle: list[Any] = []  # the driver's connections have no types

    def execute(self, *command: str | bytes | int) -> Any:
        """The server's reply.

        A line that was closed while it was idle shows only when it is used: that is what the first retry is for.
        """
        client: Any = self.client
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
        self.client.close()
