"""How many synchronous calls can wait at once, and what the others feel of it."""

import socket
import time
from contextlib import ExitStack
from functools import partial
from math import inf

from bench import jobs, wire
from bench.context import WARM_S, Bench
from bench.figures import Figure, Reading, percentile
from bench.load import Caller, Load
from bench.meters import rss_mb
from bench.servers import COATCHECK, Side, running

WAITING = "synchronous calls that wait at once in one web process"
MEMORY = "web memory for each waiting call"
IDLE_P99 = "a poll while no call waits: p99"
WAITING_P99 = "a poll while all calls wait: p99"

ENV = {"WEB_CONCURRENCY": "1", "COATCHECK_SYNC_SECONDS": "3600"}

BATCH = 100
"""Calls that come at once; the next ones come when these wait. How many can come in one moment is another question."""

PATIENCE_S = 10.0
"""How long a batch may take until it waits."""


def measure(bench: Bench) -> None:
    """Call a tool that no worker runs, by many clients that know no tasks; poll there, and where no call waits."""
    idle, busy = bench.coatcheck(ENV), bench.coatcheck(ENV)
    idle.name, busy.name = "idle", "busy"
    with running(idle, busy), ExitStack() as calls:
        (task_id,) = jobs.create(busy, wire.call("noop"))
        p99 = partial(_p99, wire.get(task_id), bench.plan.seconds)
        bench.redis.delete(busy.queue)
        p99(busy)
        before = rss_mb(busy.webs)
        count, reached = 0, True
        while reached and count < bench.plan.waiting:
            for _ in range(BATCH):
                call = calls.enter_context(socket.create_connection(("127.0.0.1", busy.port)))
                call.sendall(wire.call("noop", knows_tasks=False))
            end = time.monotonic() + PATIENCE_S
            while not (reached := bench.redis.llen(busy.queue) == count + BATCH) and time.monotonic() < end:
                time.sleep(0.01)
            count = bench.redis.llen(busy.queue)
        grown = rss_mb(busy.webs) - before
        # Neither stands still meanwhile: all calls of a process that did would look up in the same moment from then on.
        taken = [(p99(idle), p99(busy)) for _ in range(bench.plan.rounds)]
    bench.figures.add(Figure.plain(WAITING, COATCHECK, "", count, note=f"of {bench.plan.waiting:,}"))
    bench.figures.add(Figure.plain(MEMORY, COATCHECK, "KB", grown * 1000 / max(1, count)))
    for what, readings in zip((IDLE_P99, WAITING_P99), zip(*taken, strict=True), strict=True):
        bench.figures.add(Figure(what, COATCHECK, "ms", readings))


def _p99(poll: bytes, seconds: float, side: Side) -> Reading:
    """Poll by one caller, again and again; a server that answers none of its polls takes for ever."""
    took_ms: list[float] = []

    def caller() -> Caller:
        while True:
            begun = time.perf_counter()
            yield poll
            took_ms.append((time.perf_counter() - begun) * 1000)

    with Load(side.port, [caller()]) as load:
        load.go_on(WARM_S)
        took_ms.clear()
        load.go_on(seconds)
    return Reading(percentile(took_ms or [inf], 99))
