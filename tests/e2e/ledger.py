"""What was really done, written outside of the store: the judge of whether work was lost or done twice."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path

LEDGER = "COATCHECK_TEST_LEDGER"
"""The variable that names the ledger's file to the processes that write into it."""


class Ledger:
    """A file of entries that survives every kill; written by many processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with closing(self._open()) as db:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("CREATE TABLE IF NOT EXISTS entries (task_id TEXT, what TEXT, run INTEGER, pid INTEGER)")

    @classmethod
    def of_environment(cls) -> "Ledger":
        """The ledger that the test named to this process."""
        return cls(Path(os.environ[LEDGER]))

    def note(self, task_id: str, what: str, run: int) -> None:
        """The entry is on disk."""
        with closing(self._open()) as db, db:
            db.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", (task_id, what, run, os.getpid()))

    def count(self, task_id: str, what: str) -> int:
        """How often this was noted for this task."""
        with closing(self._open()) as db:
            query = "SELECT count(*) FROM entries WHERE task_id = ? AND what = ?"
            return int(db.execute(query, (task_id, what)).fetchone()[0])

    def entries(self, task_id: str) -> list[tuple[str, int]]:
        """What was noted for this task and by which run, in order."""
        with closing(self._open()) as db:
            query = "SELECT what, run FROM entries WHERE task_id = ? ORDER BY rowid"
            return [(what, run) for what, run in db.execute(query, (task_id,))]

    def pid(self, task_id: str, what: str) -> int:
        """The process that noted this last."""
        with closing(self._open()) as db:
            query = "SELECT pid FROM entries WHERE task_id = ? AND what = ? ORDER BY rowid DESC LIMIT 1"
            return int(db.execute(query, (task_id, what)).fetchone()[0])

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=30.0, isolation_level=None)
