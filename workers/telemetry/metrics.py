"""What workers measure of their work, for `/metrics`: counted here, added to the store's counts every few seconds."""

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
"""How long a count may stay in a process. One that is killed takes these with it."""

BUCKETS_S: Final = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 60.0, 300.0, 1800.0, 7200.0)
"""The upper ends of the buckets of a histogram; one more is for all that is longer."""

RUNS: Final = "runs"
"""Runs by tool and outcome."""
RUN_TIMES: Final = "run_seconds"
"""A histogram of how long a run took, by tool."""
QUEUE_TIMES: Final = "queue_seconds"
"""A histogram of how long a task waited for its first run, by tool."""
TRANSITIONS: Final = "transitions"
"""What the sweeper did, by kind."""
SETTLED: Final = "settled"
"""Exposed tasks that ended, by tool and status."""

SUM: Final = "sum"
"""Instead of a bucket's number: the sum of a histogram, in ms."""

SEPARATOR: Final = "\t"

Add = Callable[[str, int, Mapping[str, int]], None]
"""`Statistics.add`."""


class Gauge(NamedTuple):
    """What stands at some number now."""

    read: Callable[[], int]
    report: Callable[[str, int], None]
    """Takes the process and the number; it holds for a few seconds."""


class Measures:
    """What every process counts, each for itself. To be made before the fork; thread-safe."""

    def __init__(self, add: Add, gauge: Gauge | None = None) -> None:
        """`gauge` is reported for as long as it is not 0, by a process that has counted anything."""
        self._counts = PerProcess(lambda: Counts(add, gauge))

    def count(self, name: str, *labels: str, by: int = 1) -> None:
        """One more of this."""
        self._counts.get().count(SEPARATOR.join((name, *labels)), by)

    def close(self) -> None:
        """What this process has counted is in the store, if that is there, and its thread has ended."""
        if (mine := self._counts.pop()) is not None:
            mine.close()

    def time(self, name: str, label: str, seconds: float) -> None:
        """One more took this long."""
        self.count(name, label, str(bisect_left(BUCKETS_S, seconds)))
        self.count(name, label, SUM, by=max(0, round(seconds * 1000)))


class Counts:
    """The counts of one process, and the thread that takes them to the store; it begins with the first count."""

    def __init__(self, add: Add, gauge: Gauge | None) -> None:
        self._add = add
        self._gauge = gauge
        self._reported = 0
        self._process = secrets.token_hex(8)
        self._number = 1
        self._counted: Counter[str] = Counter()
        self._leaving: Counter[str] = Counter()
        """What the store may have heard of, or not: it is sent again under the same number."""
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def count(self, name: str, by: int) -> None:
        """So many more of this."""
        with self._lock:
            self._counted[name] += by
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="coatcheck-measures", daemon=True)
                self._thread.start()

    def flush(self) -> None:
        """What was counted is in the store, unless that is away; called by one thread."""
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
        """The store knows how the gauge stands, unless it is away."""
        if self._gauge is None or not (standing or self._reported):
            return
        try:
            self._gauge.report(self._process, standing)
        except StoreError as fault:
            logger.debug("a gauge is not reported: %s", fault)
            return
        self._reported = standing

    def close(self) -> None:
        """The thread has flushed for the last time and ended; the gauge stands at 0 for this process."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._closing.wait(FLUSH_SECONDS):
            self.flush()
            self.report(self._gauge.read() if self._gauge else 0)
        self.flush()
        self.report(0)
