"""How many synchronous calls can wait at once, and what the others feel of it."""

import socket
import time
from contextlib import ExitStack
from functools import partial
from math import inf

from bench import jobs, wire
from bench.context import Bench
from bench.figures import Figure, Reading, percentile
from bench.load import Caller, Load
from bench.meters import rss_mb
from bench.servers import COATCHECK, Side, running

WAITING = "synchronous calls that wait at once in one web process"
MEMORY = "web memory for each waiting call"
IDLE_P99 = "a poll while no call waits: p99"
WAITING_P99 = "a poll while all calls wait: p99"

ENV = {"WEB_CONCURRENCY": "1", "COATCHECK_SYNC_SECONDS": "3600"}

PATIENCE_S = 30.0
"""How long all calls may take to arrive."""

SETTLE_S = 1.5
"""Before the clock starts: what waits in a process that stood still looks up first."""


def measure(bench: Bench) -> None:
    """Call a tool that no worker runs, by many clients that know no tasks; poll there, and where no call waits."""
    idle, busy = sides = [bench.coatcheck(ENV), bench.coatcheck(ENV)]
    idle.name, busy.name = "idle", "busy"
    with running(*sides), ExitStack() as calls:
        (task_id,) = jobs.create(busy, wire.call("noop"))
        p99 = partial(_p99, wire.get(task_id), bench.plan.seconds)
        bench.redis.delete(busy.queue)
        p99(busy)
        before = rss_mb(busy.webs)
        for _ in range(bench.plan.waiting):
            call = calls.enter_context(socket.create_connection(("127.0.0.1", busy.port)))
            call.sendall(wire.call("noop", knows_tasks=False))
        end = time.monotonic() + PATIENCE_S
        while (count := bench.redis.llen(busy.queue)) < bench.plan.waiting and time.monotonic() < end:
            time.sleep(0.1)
        grown = rss_mb(busy.webs) - before
        taken = bench.turns(sides, {side.name: p99 for side in sides})
    bench.figures.add(Figure.plain(WAITING, COATCHECK, "", count, note=f"of {bench.plan.waiting:,}"))
    bench.figures.add(Figure.plain(MEMORY, COATCHECK, "KB", grown * 1000 / max(1, count)))
    for what, side in ((IDLE_P99, idle), (WAITING_P99, busy)):
        bench.figures.add(Figure(what, COATCHECK, "ms", tuple(taken[side.name])))


def _p99(poll: bytes, seconds: float, side: Side) -> Reading:
    """Poll by one caller, again and again; a server that answers none of its polls takes for ever."""
    took_ms: list[float] = []

    def caller() -> Caller:
        while True:
            begun = time.perf_counter()
            yield poll
            took_ms.append((time.perf_counter() - begun) * 1000)

    with Load(side.port, [caller()]) as load:
        load.go_on(SETTLE_S)
        took_ms.clear()
        load.go_on(seconds)
    return Reading(percentile(took_ms or [inf], 99))
