"""The tickets of this machine: an SQLite file that any number of processes may use at once.

It holds no arguments, unless they were asked to be kept, and never a result. A damaged file is kept aside, not deleted.
"""

import fcntl
import os
import sqlite3
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from coatcheck.client.errors import LedgerBusy, LedgerDamaged, LedgerTooNew, LedgerUnusable

T = TypeVar("T")

VERSION: Final = 1
"""Of the tables; a file with a higher one is left alone."""

BUSY_S: Final = 10.0
"""How long another process may hold the file."""

UNANSWERED_MS: Final = 7 * 24 * 3600 * 1000
"""How long a call is remembered whose answer never came."""

ENDED_MS: Final = 30 * 24 * 3600 * 1000
"""How long a task is remembered that its server keeps for ever, once it has ended."""

CLOCKS_MS: Final = 3600 * 1000
"""By how much the clock of a server may differ from ours: so much later a task's time to live has surely passed."""

LATEST_MS: Final = 2**53
"""The latest expiry that is kept; a server may send any integer, and SQLite takes no larger ones than 64 bits."""

SENT: Final = "sent"
"""The status of a call whose answer has not come."""

UNKNOWN: Final = "unknown"
"""The status of a task that its server did not know when it was asked last, for whoever asked."""

TOOL_ERROR: Final = "tool_error"
"""The status of a completed task whose result says that the tool could not do what was asked."""

_TABLES: Final = """
CREATE TABLE calls (
    server TEXT NOT NULL,
    idempotency_key TEXT NOT NULL,
    tool TEXT NOT NULL,
    task_id TEXT,
    status TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    expires_ms INTEGER,
    arguments TEXT,
    PRIMARY KEY (server, idempotency_key),
    UNIQUE (server, task_id)
) STRICT;
CREATE TABLE answered (
    server TEXT NOT NULL,
    task_id TEXT NOT NULL,
    input_key TEXT NOT NULL,
    PRIMARY KEY (server, task_id, input_key),
    FOREIGN KEY (server, task_id) REFERENCES calls (server, task_id) ON DELETE CASCADE
) STRICT;
PRAGMA user_version = 1;
"""

_ENTRIES: Final = """
SELECT server, idempotency_key, tool, coalesce(task_id, ''), status, created_ms, expires_ms, arguments
FROM calls WHERE coalesce(expires_ms, :now) >= :now - :clocks ORDER BY created_ms
"""

_SEND: Final = """
INSERT INTO calls (server, idempotency_key, tool, status, created_ms, expires_ms, arguments)
VALUES (:server, :key, :tool, 'sent', :now, :expires, :arguments)
ON CONFLICT (server, idempotency_key) DO NOTHING
"""

_TICKET: Final = """
UPDATE OR REPLACE calls SET task_id = :task_id, status = :status, expires_ms = :expires, arguments = NULL
WHERE server = :server AND idempotency_key = :key
"""

_SEEN: Final = """
UPDATE calls SET status = :status, expires_ms = :expires WHERE server = :server AND task_id = :task_id
"""

_UNKNOWN: Final = """
UPDATE calls SET status = 'unknown'
WHERE server = :server AND task_id = :task_id AND status NOT IN ('completed', 'tool_error', 'failed', 'cancelled')
"""

_ANSWERED: Final = """
INSERT OR IGNORE INTO answered SELECT server, task_id, :input_key FROM calls
WHERE server = :server AND task_id = :task_id
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """What the ledger knows of one call."""

    server: str
    idempotency_key: str
    tool: str
    task_id: str
    """Empty as long as the call's answer has not come."""
    status: str
    """As it was last seen, and "tool_error" where a completed task's result has `isError`; "sent" as long as the answer
    has not come, "unknown" when the server did not know it."""
    created_ms: int
    expires_ms: int | None
    """None when the server keeps the task for ever."""
    arguments: str | None
    """As JSON; only while the answer has not come, and only if they were asked to be kept."""


def warn_of_damage(kept: Path) -> None:
    """A warning says where the damaged file is kept."""
    text = f"The ledger of tickets was damaged. It is kept as {kept}; a new one was begun."
    warnings.warn(text, LedgerDamaged, stacklevel=2)


class Ledger:
    """Each method is one transaction, on a connection of its own, and may be called from any thread.

    Raises:
        LedgerBusy, LedgerUnusable, LedgerTooNew: nothing was written.
    """

    def __init__(self, path: Path, on_damage: Callable[[Path], None] = warn_of_damage) -> None:
        """`on_damage` hears where a damaged file was put."""
        self.path = path
        self._on_damage = on_damage

    def send(self, server: str, tool: str, key: str, arguments: str | None) -> bool:
        """The call is known before it goes out. False when it was known already: it repeats the one with its key."""
        now = _now_ms()
        values = {
            "server": server,
            "key": key,
            "tool": tool,
            "now": now,
            "expires": now + UNANSWERED_MS,
            "arguments": arguments,
        }

        def write(connection: sqlite3.Connection) -> bool:
            connection.execute("DELETE FROM calls WHERE expires_ms < ?", (now - CLOCKS_MS,))
            return connection.execute(_SEND, values).rowcount == 1

        return self._run(write)

    def keep_ticket(self, server: str, key: str, task_id: str, status: str, expires_ms: int | None) -> None:
        """The call became this task."""
        values = {"server": server, "key": key, "task_id": task_id, "status": status, "expires": expires_ms}
        self._run(lambda connection: connection.execute(_TICKET, values))

    def drop(self, server: str, key: str) -> None:
        """The call left nothing to come back for: it was answered at once, or refused."""
        statement = "DELETE FROM calls WHERE server = ? AND idempotency_key = ? AND task_id IS NULL"
        self._run(lambda connection: connection.execute(statement, (server, key)))

    def unknown(self, server: str, task_id: str) -> bool:
        """The server did not know the task for whoever asked. Its ticket is gone only if its time has passed as well.

        Another token may know it, or the same one when the server has its data again; so says a task that was seen to
        end still how. Returns whether there is a ticket.
        """
        values = {"server": server, "task_id": task_id, "now": _now_ms()}

        def write(connection: sqlite3.Connection) -> bool:
            where = "server = :server AND task_id = :task_id"
            connection.execute(f"DELETE FROM calls WHERE {where} AND expires_ms < :now", values)  # noqa: S608
            connection.execute(_UNKNOWN, values)
            return connection.execute(f"SELECT 1 FROM calls WHERE {where}", values).fetchone() is not None  # noqa: S608

        return self._run(write)

    def knows(self, server: str, task_id: str) -> bool:
        """There is a ticket of the task."""
        statement = "SELECT 1 FROM calls WHERE server = ? AND task_id = ?"
        return self._run(lambda connection: connection.execute(statement, (server, task_id)).fetchone() is not None)

    def forget(self, server: str, key: str) -> None:
        """The call is gone, with its ticket if it has one."""
        statement = "DELETE FROM calls WHERE server = ? AND idempotency_key = ?"
        self._run(lambda connection: connection.execute(statement, (server, key)))

    def saw(self, server: str, task_id: str, status: str, expires_ms: int | None) -> None:
        """The task's last status is this; a task that the ledger does not know is not taken in."""
        values = {"server": server, "task_id": task_id, "status": status, "expires": expires_ms}
        self._run(lambda connection: connection.execute(_SEEN, values))

    def answered(self, server: str, task_id: str, input_keys: Iterable[str]) -> None:
        """These inputs are not asked again."""
        rows = [{"server": server, "task_id": task_id, "input_key": key} for key in input_keys]
        self._run(lambda connection: connection.executemany(_ANSWERED, rows))

    def answered_keys(self, server: str, task_id: str) -> frozenset[str]:
        """The inputs of the task that were answered from this machine."""
        statement = "SELECT input_key FROM answered WHERE server = ? AND task_id = ?"
        return self._run(
            lambda connection: frozenset(key for (key,) in connection.execute(statement, (server, task_id)))
        )

    def entries(self) -> list[Entry]:
        """All calls but those that have surely expired, the oldest first."""
        now = {"now": _now_ms(), "clocks": CLOCKS_MS}
        return self._run(lambda connection: [Entry(*row) for row in connection.execute(_ENTRIES, now)])

    def _run(self, act: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return self._transact(act)
        except sqlite3.OperationalError as fault:
            raise self._named(fault) from fault
        except sqlite3.DatabaseError:
            self._set_aside()
        try:
            return self._transact(act)
        except sqlite3.DatabaseError as fault:
            raise self._named(fault) from fault

    def _named(self, fault: sqlite3.DatabaseError) -> LedgerBusy | LedgerUnusable:
        if fault.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return LedgerBusy(self.path)
        return LedgerUnusable(self.path, str(fault))

    def _transact(self, act: Callable[[sqlite3.Connection], T]) -> T:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self.path.exists():
                # Ids may be all that it takes to act on a task, so only this user may read them.
                os.close(os.open(self.path, os.O_CREAT, 0o600))
        except OSError as fault:
            raise LedgerUnusable(self.path, fault.strerror or str(fault)) from fault
        with closing(sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None)) as connection:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                (version,) = connection.execute("PRAGMA user_version").fetchone()
                if version > VERSION:
                    raise LedgerTooNew(self.path)
                if version < VERSION:
                    for statement in _TABLES.split(";"):
                        connection.execute(statement)
                return act(connection)

    def _set_aside(self) -> None:
        """The damaged file has another name, and the next transaction finds none. One process of several does it."""
        with self._alone():
            if self._is_sound():
                return
            kept = self.path.with_name(f"{self.path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}")
            try:
                self.path.rename(kept)
                # An unfinished transaction of the old file must not be rolled back into the new one.
                with suppress(FileNotFoundError):
                    self.path.with_name(f"{self.path.name}-journal").rename(f"{kept}-journal")
            except OSError as fault:
                raise LedgerUnusable(self.path, fault.strerror or str(fault)) from fault
        self._on_damage(kept)

    def _is_sound(self) -> bool:
        try:
            with closing(sqlite3.connect(self.path, timeout=BUSY_S)) as connection:
                return bool(connection.execute("PRAGMA quick_check").fetchone() == ("ok",))
        except sqlite3.OperationalError:
            return True
        except sqlite3.DatabaseError:
            return False

    @contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            lock = self.path.with_name(f"{self.path.name}.lock").open("w")
        except OSError as fault:
            raise LedgerUnusable(self.path, fault.strerror or str(fault)) from fault
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def expires_ms(created_ms: int, ttl_ms: int | None, *, is_terminal: bool) -> int | None:
    """When a task may be forgotten: with its time to live, or some time after it ended when it has none."""
    if ttl_ms is not None:
        return max(0, min(created_ms + ttl_ms, LATEST_MS))
    return _now_ms() + ENDED_MS if is_terminal else None


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
