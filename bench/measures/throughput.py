"""How long a task that does nothing takes, and how many a second there can be."""

import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, count

from bench import ceilings, jobs, wire
from bench.context import Bench
from bench.figures import Figure, Reading, percentile
from bench.load import Load, RequestFailed
from bench.meters import Meter
from bench.servers import BARE, Side, only, running

P50 = "from call to completed, one at a time: p50"
P95 = "from call to completed, one at a time: p95"
P99 = "from call to completed, one at a time: p99"
FIFTY = "tasks with 50 callers"
TWO_HUNDRED = "tasks with 200 callers at once"
STUCK = "failed or stuck with 200 callers"
WORKERS = "tasks through the workers"

POLL_S = 0.05
"""How long each of many callers waits between two polls."""

EACH = 3
"""Tasks of each of the 200 callers."""

PATIENCE_S = 60.0
"""After which a task counts as stuck."""


def measure(bench: Bench) -> None:
    """Latency one at a time, throughput with many callers, and what the workers do with a backlog."""
    doors = [bench.coatcheck(), *bench.peers()]
    sides = [bench.bare(), *doors]
    with running(*sides, workers=True):
        _latencies(bench, sides)
        bench.compare(FIFTY, "/s", sides, {side.name: partial(_fifty, bench) for side in doors})
        bench.compare(WORKERS, "/s", sides, {side.name: partial(_backlog, bench) for side in sides})
        for side in doors:
            with only(side, sides):
                _two_hundred(bench, side)


def _latencies(bench: Bench, sides: Sequence[Side]) -> None:
    app = ceilings.create_app(*ceilings.settings_for(bench.valkey.url))
    noop = app.tasks["bench.noop_with_result"]

    def bare(_side: Side) -> list[float]:
        return [_timed_ms(lambda: noop.delay("").get(timeout=PATIENCE_S)) for _ in range(bench.plan.calls)]

    def through_the_door(side: Side) -> list[float]:
        seconds: list[float] = []
        with Load(side.port, [jobs.calls(iter(range(bench.plan.calls)), 0.0, seconds.append)]) as load:
            load.go_on()
        return [took * 1000 for took in seconds]

    taken = bench.turns(sides, {side.name: bare if side.name == BARE else through_the_door for side in sides})
    app.close()
    for name, rounds in taken.items():
        bench.figures.add(Figure.plain(P50, name, "ms", *map(statistics.median, rounds)))
    for what, percent in ((P95, 95), (P99, 99)):
        for name, rounds in taken.items():
            bench.figures.add(Figure.plain(what, name, "ms", percentile(chain(*rounds), percent), note="of all rounds"))


def _timed_ms(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return (time.perf_counter() - begun) * 1000


def _fifty(bench: Bench, side: Side) -> Reading:
    """Fifty callers, each with one task at a time; how many of them completed."""
    seconds = 2 * bench.plan.seconds
    done: list[float] = []
    with Load(side.port, [jobs.calls(count(), POLL_S, done.append) for _ in range(50)]) as load:
        load.go_on(1.0)
        before = len(done)
        with Meter(side, bench.redis) as used:
            load.go_on(seconds)
    jobs.wait_until_drained(bench.redis, side)
    return used.reading(len(done) - before, seconds)


def _backlog(bench: Bench, side: Side) -> Reading:
    """The workers get a backlog at once: they stand still while it is made."""
    for worker in side.workers:
        worker.pause()
    jobs.send(side, wire.post("/send") if side.name == BARE else wire.call("noop"), bench.plan.backlog)
    with Meter(side, bench.redis) as used:
        begun = time.perf_counter()
        for worker in side.workers:
            worker.resume()
        jobs.wait_until_drained(bench.redis, side)
        took = time.perf_counter() - begun
    return used.reading(bench.plan.backlog, took)


def _two_hundred(bench: Bench, side: Side) -> None:
    """Two hundred callers begin in one moment; all that they began has to complete."""
    done: list[float] = []
    tasks = 200 * EACH
    failure = "no error"
    begun = time.perf_counter()
    try:
        with Load(side.port, [jobs.calls(iter(range(EACH)), POLL_S, done.append) for _ in range(200)]) as load:
            load.go_on(PATIENCE_S)
    except (RequestFailed, OSError) as fault:
        failure = f"first error: {str(fault)[:120]!r}"
    took = time.perf_counter() - begun
    bench.figures.add(Figure.plain(TWO_HUNDRED, side.name, "/s", len(done) / took))
    bench.figures.add(Figure.plain(STUCK, side.name, "tasks", tasks - len(done), note=f"of {tasks}; {failure}"))
