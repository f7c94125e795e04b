"""How long one change takes to reach many listeners, and what the others feel of it."""

import time

from bench import jobs, wire
from bench.context import Bench
from bench.figures import Figure
from bench.load import ask
from bench.meters import rss_mb
from bench.servers import COATCHECK, Side, running
from bench.streams import Listeners, NotHeard

DELIVERY = "from one change to all listeners"
POLL = "a poll while all listeners are connected"
STREAM = "web memory for each listener"

IN_ONE_PROCESS = {"WEB_CONCURRENCY": "1"}


def measure(bench: Bench) -> None:
    """All streams in one web process; each change is the end of one of the tasks that all of them listen to."""
    mine = bench.coatcheck(IN_ONE_PROCESS)
    with running(mine):
        try:
            _deliver(bench, mine)
        except NotHeard as fault:
            bench.figures.add(Figure.plain(DELIVERY, COATCHECK, "ms", note=str(fault)))


def _deliver(bench: Bench, mine: Side) -> None:
    note = f"{bench.plan.listeners:,} listeners"
    ids = jobs.create(mine, wire.call("noop"), bench.plan.rounds + 1)
    with Listeners(mine.port, wire.listen(ids), 1) as first:  # what all of them share is there then
        first.wait_for(ids[-1].encode())
    before = rss_mb(mine.webs)
    delivery: list[float] = []
    polls: list[float] = []
    with Listeners(mine.port, wire.listen(ids), bench.plan.listeners) as listeners:
        listeners.wait_for_streams()
        listeners.wait_for(ids[-1].encode())
        grown = rss_mb(mine.webs) - before
        for task_id in ids[:-1]:
            begun = time.perf_counter()
            ask(mine.port, wire.get(ids[-1]))
            polls.append((time.perf_counter() - begun) * 1000)
            begun = time.perf_counter()
            ask(mine.port, wire.cancel(task_id))
            listeners.wait_for(f'"taskId":"{task_id}","status":"cancelled"'.encode())
            delivery.append((time.perf_counter() - begun) * 1000)
    bench.figures.add(Figure.plain(DELIVERY, COATCHECK, "ms", *delivery, note=note))
    bench.figures.add(Figure.plain(POLL, COATCHECK, "ms", *polls, note=note))
    bench.figures.add(Figure.plain(STREAM, COATCHECK, "KB", grown * 1000 / bench.plan.listeners))
