"""Count and time the work of a process for `/metrics`. The counts are added to the store every few seconds."""

import logging
import secrets
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from coatcheck.tasks_store import StoreError
from coatcheck.tasks_store.per_process import PerProcess

logger = logging.getLogger(__name__)

FLUSH_SECONDS: Final = 2.0
"""Seconds between two writes to the store. A process that is killed loses its counts since the last one."""

BUCKETS_S: Final = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0, 1800.0, 7200.0)
"""The upper bounds of a histogram's buckets; one more bucket takes the longer times."""

RUNS: Final = "runs"
"""The number of runs, by tool and outcome."""
RUN_TIMES: Final = "run_seconds"
"""The histogram of the durations of runs, by tool."""
QUEUE_TIMES: Final = "queue_seconds"
"""The histogram of the times that tasks waited for their first run, by tool."""
TRANSITIONS: Final = "transitions"
"""The number of the sweeper's transitions, by kind."""
SETTLED: Final = "settled"
"""The number of exposed tasks that ended, by tool and status."""

SUM: Final = "sum"
"""The label of a histogram's sum in ms, in the place of a bucket's number."""

SEPARATOR: Final = "\t"

Add = Callable[[str, int, Mapping[str, int]], None]
"""`Statistics.add`."""


class Gauge(NamedTuple):
    """A current number, such as open streams."""

    read: Callable[[], int]
    report: Callable[[str, int], None]
    """Stores the number of a process, which is valid for a few seconds."""


class Measures:
    """Counters and histograms, which each process keeps for itself. Create before the fork; thread-safe."""

    def __init__(self, add: Add, gauge: Gauge | None = None) -> None:
        """`gauge` is reported while it is not 0, by processes that have counted something."""
        self._counts = PerProcess(lambda: Counts(add, gauge))

    def count(self, name: str, *labels: str, by: int = 1) -> None:
        """Increase a counter."""
        self._counts.get().count(SEPARATOR.join((name, *labels)), by)

    def close(self) -> None:
        """Write this process's counts to the store, if it is available, and end the thread."""
        if (mine := self._counts.pop()) is not None:
            mine.close()

    def time(self, name: str, label: str, seconds: float) -> None:
        """Add a duration to a histogram."""
        self.count(name, label, str(bisect_left(BUCKETS_S, seconds)))
        self.count(name, label, SUM, by=max(0, round(seconds * 1000)))


class Counts:
    """The counts of one process, and the thread that writes them to the store, which starts with the first count."""

    def __init__(self, add: Add, gauge: Gauge | None) -> None:
        self._add = add
        self._gauge = gauge
        self._reported = 0
        self._process = secrets.token_hex(8)
        self._number = 1
        self._counted: Counter[str] = Counter()
        self._leaving: Counter[str] = Counter()
        """Counts that the store may already have; they are sent again under the same number."""
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def count(self, name: str, by: int) -> None:
        """Increase a counter."""
        with self._lock:
            self._counted[name] += by
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="coatcheck-measures", daemon=True)
                self._thread.start()

    def flush(self) -> None:
        """Write the counts to the store, unless it is unavailable. Called by one thread."""
        if not self._leaving:
            with self._lock:
                self._leaving, self._counted = self._counted, Counter()
        if not self._leaving:
            return
        try:
            self._add(self._process, self._number, self._leaving)
        except StoreError as fault:
            logger.debug("counts are kept for later: %s", fault)
            return
        self._leaving = Counter()
        self._number += 1

    def report(self, standing: int) -> None:
        """Write the value of the gauge to the store, unless it is unavailable."""
        if self._gauge is None or not (standing or self._reported):
            return
        try:
            self._gauge.report(self._process, standing)
        except StoreError as fault:
            logger.debug("a gauge is not reported: %s", fault)
            return
        self._reported = standing

    def close(self) -> None:
        """Write the last counts, set the gauge of this process to 0, and end the thread."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._closing.wait(FLUSH_SECONDS):
            self.flush()
            self.report(self._gauge.read() if self._gauge else 0)
        self.flush()
        self.report(0)
