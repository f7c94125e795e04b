"""What goes wrong, at random, by a seed."""

import random
import signal
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress

import psutil

from tests.support.platform import Platform
from tests.support.processes import Process

PAUSE_SECONDS = (0.4, 2.0)
"""Between two disturbances."""

DOWN_SECONDS = (0.0, 3.0)
"""How long the store is away, or stands still."""


class Disturbances:
    """Kills and restarts the processes of a platform, and remembers what was killed when."""

    def __init__(self, platform: Platform, seed: int) -> None:
        self.counts: Counter[str] = Counter()
        self.deaths: dict[int, list[float]] = defaultdict(list)
        """When each process of a worker was killed, on the machine's clock."""
        self._platform = platform
        self._printed: dict[Process, int] = defaultdict(int)
        """How much a process had printed when it was started last."""
        self._random = random.Random(seed)
        self._kinds: dict[Callable[[], None], int] = {
            self._kill_pool_process: 8,
            self._kill_worker: 3,
            self._stop_worker: 1,
            self._kill_web: 3,
            self._kill_store: 1,
            self._restart_store: 1,
            self._pause_store: 1,
        }

    def go_on(self, seconds: float) -> None:
        """Things went wrong for this long; everything runs again."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._revive()
            self._random.choices(list(self._kinds), list(self._kinds.values()))[0]()
            self._wait(PAUSE_SECONDS)
        self._revive()

    def _revive(self) -> None:
        """Whatever ended by itself runs again, as under any process manager."""
        for process in (*self._platform.workers, *self._platform.webs):
            if not process.is_running:
                self.counts[f"{process.name.partition('-')[0]} ended by itself"] += 1
                self._start(process)

    def _kill_pool_process(self) -> None:
        running = [child for worker in self._ready() for child in _children(worker)]
        if running:
            self._kill(self._random.choice(running))
            self.counts["pool process killed"] += 1

    def _kill_worker(self) -> None:
        for worker in self._one_ready():
            for process in (psutil.Process(worker.pid), *_children(worker)):
                self._kill(process)
            worker.kill()
            self.counts["worker killed"] += 1
            self._start_later(worker)

    def _stop_worker(self) -> None:
        """As a deployment does: it is asked to stop, and killed when it takes too long."""
        for worker in self._one_ready():
            worker.signal(signal.SIGTERM)
            self._wait((1.0, 2.0))
            for process in _children(worker):
                self._kill(process)
            worker.kill()
            self.counts["worker stopped"] += 1
            self._start_later(worker)

    def _kill_web(self) -> None:
        web = self._random.choice(self._platform.webs)
        web.kill()
        self.counts["web killed"] += 1
        self._start_later(web)

    def _kill_store(self) -> None:
        self._platform.valkey.kill()
        self._wait(DOWN_SECONDS)
        self._platform.valkey.start()
        self.counts["store killed"] += 1

    def _restart_store(self) -> None:
        self._platform.valkey.restart()
        self.counts["store restarted"] += 1

    def _pause_store(self) -> None:
        self._platform.valkey.pause()
        self._wait(DOWN_SECONDS)
        self._platform.valkey.resume()
        self.counts["store paused"] += 1

    def _start_later(self, process: Process) -> None:
        self._wait((0.0, 0.5))
        self._start(process)

    def _start(self, process: Process) -> None:
        self._printed[process] = len(process.log)
        process.start()

    def _ready(self) -> list[Process]:
        """The workers that take messages: killed while they start, on a slow machine none would ever get to work."""
        return [
            worker
            for worker in self._platform.workers
            if worker.is_running and " ready." in worker.log[self._printed[worker] :]
        ]

    def _one_ready(self) -> list[Process]:
        """One of them, if there is any."""
        ready = self._ready()
        return [self._random.choice(ready)] if ready else []

    def _kill(self, process: psutil.Process) -> None:
        with suppress(psutil.NoSuchProcess):
            self.deaths[process.pid].append(time.monotonic())
            process.kill()

    def _wait(self, seconds: tuple[float, float]) -> None:
        threading.Event().wait(self._random.uniform(*seconds))


def _children(worker: Process) -> list[psutil.Process]:
    """The pool processes of a worker, in an order that does not depend on chance."""
    if not worker.is_running:
        return []
    with suppress(psutil.NoSuchProcess):
        return sorted(psutil.Process(worker.pid).children(), key=lambda child: child.pid)
    return []
