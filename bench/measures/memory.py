"""What tasks take of Redis, what processes take of the machine, and what all of it does when nothing is to be done."""

import time

from bench import jobs, wire
from bench.context import Bench
from bench.figures import Figure
from bench.load import ask
from bench.loader import copied_id, copy
from bench.meters import commands, rss_mb, used_bytes
from bench.servers import COATCHECK, JOB_PROCESSES, WEB_PROCESSES, Side, only, running

WORKING = "Redis bytes for each working task, its message included"
PARKED = "Redis bytes for each parked task"
COMPLETED = "Redis bytes for each completed task"
IN_BROKER = "messages in the broker while tasks are parked"
IDLE = "idle: Redis commands for each process"
WEB_RSS = "memory of the web processes at rest"
WORKER_RSS = "memory of the worker processes at rest"
WEB_GROWTH = "memory that the web processes gained"
WORKER_GROWTH = "memory that the worker processes gained"
PARKED_MANY = "many parked: Redis bytes for each"
PARKED_RSS = "many parked: memory of the workers"
PARKED_RESUME = "many parked: from tasks/update to the next run"

TASKS = 1_000
IDLE_S = 5.0
PROCESSES = WEB_PROCESSES + 1 + JOB_PROCESSES
"""Of Coatcheck: those that may talk to Redis. A worker is one process and its pool."""


def measure(bench: Bench) -> None:
    """Bytes for each kind of task on each side; then idleness, steadiness and many parked tasks of Coatcheck."""
    mine = bench.coatcheck()
    sides = (mine, *bench.peers())
    with running(*sides):
        for side in sides:
            with only(side, sides):
                _bytes(bench, side)
    bench.redis.flushall()
    for look in (_idle, _steady, _many_parked):
        mine = bench.coatcheck()
        with running(mine, workers=True):
            look(bench, mine)
        bench.redis.flushall()


def _bytes(bench: Bench, side: Side) -> None:
    """Tasks are made while no worker runs, then they run; others park."""
    side.start_workers()
    (warm,) = jobs.create(side, wire.call("ask"))
    jobs.wait_for(side, warm, "input_required")
    side.stop_workers()
    empty = used_bytes(bench.redis)
    tasks = jobs.create(side, wire.call("noop"), TASKS)
    working = used_bytes(bench.redis)
    side.start_workers()
    jobs.wait_until_drained(bench.redis, side)
    for task_id in tasks[-jobs.CALLERS :]:
        jobs.wait_for(side, task_id, "completed")
    bench.figures.add(Figure.plain(WEB_RSS, side.name, "MB", rss_mb(side.webs)))
    bench.figures.add(Figure.plain(WORKER_RSS, side.name, "MB", rss_mb(side.workers)))
    side.stop_workers()
    completed = used_bytes(bench.redis)
    side.start_workers()
    tasks = jobs.create(side, wire.call("ask"), TASKS)
    jobs.wait_until_drained(bench.redis, side)
    for task_id in tasks[-jobs.CALLERS :]:
        jobs.wait_for(side, task_id, "input_required")
    waiting = bench.redis.exists(side.queue)
    side.stop_workers()
    parked = used_bytes(bench.redis)
    for what, used in ((WORKING, working - empty), (COMPLETED, completed - empty), (PARKED, parked - completed)):
        bench.figures.add(Figure.plain(what, side.name, "bytes", used / TASKS))
    if side.name == COATCHECK:
        bench.figures.add(Figure.plain(IN_BROKER, side.name, "", waiting))


def _idle(bench: Bench, _mine: Side) -> None:
    rates: list[float] = []
    time.sleep(IDLE_S)  # what a start brings with it is over then
    for _ in range(bench.plan.rounds):
        before = commands(bench.redis)
        time.sleep(IDLE_S)
        rates.append((commands(bench.redis) - before) / IDLE_S / PROCESSES)
    bench.figures.add(Figure.plain(IDLE, COATCHECK, "/s", *rates, note=f"{PROCESSES} processes"))


def _steady(bench: Bench, mine: Side) -> None:
    """The first tenth warms up; over the rest, memory should stay what it is."""
    jobs.create(mine, wire.call("noop"), bench.plan.steady // 10)
    jobs.wait_until_drained(bench.redis, mine)
    web, worker = rss_mb(mine.webs), rss_mb(mine.workers)
    jobs.create(mine, wire.call("noop"), bench.plan.steady)
    jobs.wait_until_drained(bench.redis, mine)
    note = f"over {bench.plan.steady:,} tasks"
    bench.figures.add(Figure.plain(WEB_GROWTH, COATCHECK, "MB", rss_mb(mine.webs) - web, note=note))
    bench.figures.add(Figure.plain(WORKER_GROWTH, COATCHECK, "MB", rss_mb(mine.workers) - worker, note=note))


def _many_parked(bench: Bench, mine: Side) -> None:
    """One task parks in the ordinary way; the others are its copies, made inside Redis. Some of them go on."""
    (original,) = jobs.create(mine, wire.call("ask"))
    answers = jobs.answers_to(jobs.wait_for(mine, original, "input_required"))
    before = used_bytes(bench.redis)
    copy(bench.redis, original, 0, bench.plan.parked)
    note = f"{bench.plan.parked:,} tasks, copied inside Redis"
    each = (used_bytes(bench.redis) - before) / bench.plan.parked
    bench.figures.add(Figure.plain(PARKED_MANY, COATCHECK, "bytes", each, note=note))
    bench.figures.add(Figure.plain(PARKED_RSS, COATCHECK, "MB", rss_mb(mine.workers), note=note))
    delays: list[float] = []
    for number in range(bench.plan.rounds):
        begun = time.monotonic()
        ask(mine.port, wire.update(copied_id(number), answers))
        went_on = float(wire.text_of(jobs.wait_for(mine, copied_id(number), "completed")))
        delays.append((went_on - begun) * 1000)
    bench.figures.add(Figure.plain(PARKED_RESUME, COATCHECK, "ms", *delays, note=note))
