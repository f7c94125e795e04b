"""What was really done, written outside of the store, and the judgement on it."""

import os
import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

LEDGER = "COATCHECK_CHAOS_LEDGER"
"""The variable that names the ledger's file to the processes that write into it."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line. `at` is in seconds on the clock of the machine, which all its processes share."""

    task_id: str
    run: int
    pid: int
    what: str
    at: float


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a task as the ledger shows it."""

    task_id: str
    number: int
    begin: float
    end: float
    """The end it noted; without one the death of its process, or its last entry when nobody saw that death."""
    died: bool
    """It noted no end."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the ledger proves."""

    done_twice: Sequence[str]
    """Steps that began once more after their result was known to be kept. There must be none."""
    overlaps: Sequence[str]
    """Pairs of runs of one task that were alive at the same time. There must be none."""
    interrupted: int
    """Steps that began again because their run died before their result was kept: at least once, as promised."""
    died: int
    """Runs that died."""
    recoveries: Sequence[float]
    """Seconds from the death of each run to the begin of the next."""


class Ledger:
    """A file of entries that survives every kill; written by many processes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path) -> "Ledger":
        """A new, empty ledger."""
        ledger = cls(path)
        with closing(ledger._open()) as db:
            db.execute("PRAGMA journal_mode=WAL")
            db.execute("CREATE TABLE entries (task_id TEXT, run INTEGER, pid INTEGER, what TEXT, at REAL, wall REAL)")
        return ledger

    @classmethod
    def of_environment(cls) -> "Ledger":
        """The ledger that was named to this process."""
        return cls(Path(os.environ[LEDGER]))

    def note(self, task_id: str, run: int, pid: int, what: str) -> None:
        """The entry is in the file, with the time at which this was called."""
        entry = (task_id, run, pid, what, time.monotonic(), time.time())
        with closing(self._open()) as db, db:
            db.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?)", entry)

    def entries(self) -> list[Entry]:
        """Everything, in the order of time."""
        with closing(self._open()) as db:
            rows = db.execute("SELECT task_id, run, pid, what, at FROM entries ORDER BY at").fetchall()
        return [Entry(*row) for row in rows]

    def _open(self) -> sqlite3.Connection:
        db = sqlite3.connect(self.path, timeout=30.0, isolation_level=None)
        db.execute("PRAGMA synchronous=OFF")  # processes are killed here, not the machine
        return db


def judge(entries: Iterable[Entry], deaths: Mapping[int, Sequence[float]]) -> Judgement:
    """What these entries prove, given when processes were killed from outside."""
    by_task: dict[str, list[Entry]] = defaultdict(list)
    for entry in sorted(entries, key=lambda one: one.at):
        by_task[entry.task_id].append(entry)
    twice: list[str] = []
    overlaps: list[str] = []
    recoveries: list[float] = []
    interrupted = died = 0
    for task_id, task in by_task.items():
        runs = _runs(task_id, task, deaths)
        died += sum(run.died for run in runs)
        for earlier, later in pairwise(runs):
            if later.begin < earlier.end:
                apart = earlier.end - later.begin
                overlaps.append(f"{task_id}: run {later.number} began {apart:.3f} s before run {earlier.number} ended")
            elif earlier.died:
                recoveries.append(later.begin - earlier.end)
        again, more = _steps(task_id, task)
        twice += again
        interrupted += more
    return Judgement(twice, overlaps, interrupted, died, recoveries)


def _runs(task_id: str, task: Sequence[Entry], deaths: Mapping[int, Sequence[float]]) -> list[Run]:
    """The runs of one task in the order in which they began."""
    by_run: dict[int, list[Entry]] = defaultdict(list)
    for entry in task:
        by_run[entry.run].append(entry)
    runs = []
    for number, own in by_run.items():
        last = own[-1]
        died = last.what != "run ended"
        end = min((at for at in deaths.get(last.pid, ()) if at >= last.at), default=last.at) if died else last.at
        runs.append(Run(task_id, number, own[0].at, end, died))
    return sorted(runs, key=lambda run: run.begin)


def _steps(task_id: str, task: Sequence[Entry]) -> tuple[list[str], int]:
    """The steps done again although their result was kept; how many were done again because it was not."""
    begun: dict[str, list[float]] = defaultdict(list)
    kept: dict[str, float] = {}
    for entry in task:
        step, _, what = entry.what.partition(" ")
        if what == "begun":
            begun[step].append(entry.at)
        elif what == "kept":
            kept.setdefault(step, entry.at)
    begun.pop("run", None)
    twice = [
        f"{task_id}: step {step} was kept and began again"
        for step, times in begun.items()
        if step in kept and times[-1] > kept[step]
    ]
    return twice, sum(len(times) - 1 for times in begun.values()) - len(twice)
