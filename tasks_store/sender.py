"""Sends scripts to Redis, and waits for the disk where that is asked for."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

from redis.exceptions import NoScriptError, RedisError

from coatcheck.tasks_store.connections import Client, Patience, connector, driver_errors_translated
from coatcheck.tasks_store.direct_connections import DirectConnections
from coatcheck.tasks_store.encryption import Vault
from coatcheck.tasks_store.errors import WriteUnconfirmed
from coatcheck.tasks_store.keys import CONFIRMED
from coatcheck.tasks_store.per_process import PerProcess
from coatcheck.tasks_store.scripts import Argument, Script
from coatcheck.tasks_store.settings import StoreSettings

PROMISES: Final = frozenset({"create", "repeated", "answer"})
"""The scripts whose reply is a promise to a client: under `strict` they are on disk before it is given."""

BATCH: Final = 500
"""Calls that are sent in one round trip."""

CONFIRMED_MS: Final = 60_000
"""How long the key that is written to be waited for stays."""

CONFIRM_MS: Final = 1_000
"""How long the server may take to confirm that a write is on disk."""


class Sender:
    """The connections of each process that uses this, and how a script crosses them."""

    def __init__(self, settings: StoreSettings, patience: Patience) -> None:
        self._connect = connector(settings, patience)
        self._connections = settings.redis_connections
        self._lines_of_process = PerProcess(self._make)
        self._is_strict = settings.durability == "strict"
        self.vault = Vault(settings.encryption_keys)

    @property
    def _lines(self) -> DirectConnections:
        """This process's own connections."""
        return self._lines_of_process.get()

    def _make(self) -> DirectConnections:
        return DirectConnections(self._connect(), self._connections)

    @contextmanager
    def client(self) -> Iterator[Client]:
        """The driver's client; its errors leave the block as this folder's."""
        with driver_errors_translated(), self._lines.client() as client:
            yield client

    def large(self) -> AbstractContextManager[None]:
        """Hold one of the few turns for what takes a connection for long. Raises StoreUnavailable when none is free."""
        return self._lines.large()

    def send(self, one: Script, named: Mapping[str, str], **args: Argument) -> list[Any]:
        """The script's reply.

        Raises:
            StoreUnavailable: also when a strict store did not confirm in time; the transition can be sent again.
        """
        ordered, values = one.order(named, args)
        with driver_errors_translated():
            try:
                if self._is_strict and one.name in PROMISES:
                    reply = self._confirmed("EVALSHA", one.sha, len(ordered), *ordered, *values)
                else:
                    reply = self._lines.execute("EVALSHA", one.sha, len(ordered), *ordered, *values)
            except NoScriptError:
                reply = self._lines.execute("EVAL", one.text, len(ordered), *ordered, *values)
                if self._is_strict and one.name in PROMISES:
                    # Safe to send twice, now that the server knows the script.
                    reply = self._confirmed("EVALSHA", one.sha, len(ordered), *ordered, *values)
        assert isinstance(reply, list)
        return reply

    def send_all(self, one: Script, calls: Sequence[tuple[Mapping[str, str], Mapping[str, Argument]]]) -> list[Any]:
        """Return the script's reply to each call, in one round trip for each BATCH. For scripts that only read."""
        return [
            reply
            for start in range(0, len(calls), BATCH)
            for reply in self._send_batch(one, calls[start : start + BATCH])
        ]

    def _send_batch(
        self, one: Script, calls: Sequence[tuple[Mapping[str, str], Mapping[str, Argument]]]
    ) -> Sequence[Any]:
        with self.client() as client:
            pipeline = client.pipeline(transaction=False)
            for named, args in calls:
                ordered, values = one.order(named, args)
                pipeline.execute_command("EVALSHA", one.sha, len(ordered), *ordered, *values)
            replies: list[Any] = pipeline.execute(raise_on_error=False)
        if any(isinstance(reply, NoScriptError) for reply in replies):
            return [self.send(one, named, **args) for named, args in calls]
        with driver_errors_translated():
            for reply in replies:
                if isinstance(reply, RedisError):
                    raise reply
        return replies

    def confirm(self) -> None:
        """Everything that the server was told so far is on disk, where that is promised. Raises StoreUnavailable."""
        if self._is_strict:
            with driver_errors_translated():
                self._confirmed("PING")

    def close(self) -> None:
        """The connections of this process are closed."""
        if (lines := self._lines_of_process.pop()) is not None:
            lines.close()

    def _confirmed(self, *command: Any) -> Any:
        """The reply, once the server's append-only file holds what the reply tells of.

        The server waits for the last write of this connection. The command may have written nothing, because somebody
        else had done so a moment ago; so another write follows it, and the file is in the order of writes.

        Source: Redis, WAITAOF.
        """
        with self._lines.client() as client:
            pipeline = client.pipeline(transaction=False)
            pipeline.execute_command(*command)
            pipeline.set(CONFIRMED, 1, px=CONFIRMED_MS)
            pipeline.execute_command("WAITAOF", 1, 0, CONFIRM_MS)
            reply, written, confirmed = pipeline.execute(raise_on_error=False)
        for fault in (reply, written):
            if isinstance(fault, RedisError):
                raise fault
        if isinstance(confirmed, RedisError):
            raise WriteUnconfirmed(f"the server does not confirm writes to disk: {confirmed}")
        if not confirmed[0]:
            raise WriteUnconfirmed("the write was not confirmed to be on disk in time")
        return reply
