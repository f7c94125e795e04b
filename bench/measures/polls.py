"""How often a second a task can be polled."""

from bench import ceilings, jobs, wire
from bench.context import Bench
from bench.servers import BARE, COATCHECK, Side, running

ONE = "polls: one working task"
MANY = "polls: 1,000 working tasks"
LARGE = "polls: a completed task with a 100 KB result"
ARGUMENTS = "polls: a working task with 500 KB of arguments"

TASKS = 1_000
ARGUMENT_BYTES = 500_000


def measure(bench: Bench) -> None:
    """Polls of a working task, of many, of one with a large result and of one with large arguments."""
    bare, mine = bench.bare(), bench.coatcheck()
    doors = [mine, *bench.peers()]
    sides = [bare, *doors]
    ceilings.fill(bench.redis)
    with running(*sides):
        large = {side.name: [_completed(side)] for side in doors}
        one = {side.name: jobs.create(side, wire.call("noop")) for side in doors}
        many = {side.name: jobs.create(side, wire.call("noop"), TASKS) for side in doors}
        long = {COATCHECK: jobs.create(mine, wire.call("keep", {"text": "x" * ARGUMENT_BYTES}))}
        for what, path, ids in ((ONE, "/small", one), (MANY, "/small", many), (LARGE, "/large", large)):
            polls = {name: [wire.get(task_id) for task_id in found] for name, found in ids.items()}
            bench.rates(what, sides, {BARE: [wire.post(path)], **polls})
        bench.rates(ARGUMENTS, sides, {COATCHECK: [wire.get(task_id) for task_id in long[COATCHECK]]})


def _completed(side: Side) -> str:
    """A completed task with a large result, of a side that has no workers afterwards."""
    side.start_workers()
    (task_id,) = jobs.create(side, wire.call("large", {"size": ceilings.LARGE_BYTES}))
    jobs.wait_for(side, task_id, "completed")
    side.stop_workers()
    return task_id
