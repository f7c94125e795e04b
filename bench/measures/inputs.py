"""How soon an answer leads to work, and how soon the end of work is seen."""

import json
import statistics
import time
from collections.abc import Callable

from bench import jobs, wire
from bench.context import Bench
from bench.figures import Figure, Reading
from bench.load import ask
from bench.servers import COATCHECK, Side, running
from bench.streams import Listeners, NotHeard

RESUMED = "from tasks/update to the next run"
POLLED = "from a tool's end to a poller"
HEARD = "from a tool's end to a listener"

ROUND = 20
"""Tasks in each round."""


def measure(bench: Bench) -> None:
    """One task at a time; the tools tell when they went on or ended, on the clock that the machine has for all."""
    mine = bench.coatcheck()
    sides = [mine, *bench.peers()]
    with running(*sides, workers=True):
        bench.compare(RESUMED, "ms", sides, {side.name: _typical(_resumed) for side in sides})
        bench.compare(POLLED, "ms", sides, {side.name: _typical(_polled) for side in sides})
        try:
            bench.compare(HEARD, "ms", sides, {COATCHECK: _typical(_heard)})
        except NotHeard as fault:
            bench.figures.add(Figure.plain(HEARD, COATCHECK, "ms", note=str(fault)))


def _typical(delay_s: Callable[[Side], float]) -> Callable[[Side], Reading]:
    """The median of one round."""

    def taken(side: Side) -> Reading:
        return Reading(statistics.median(delay_s(side) for _ in range(ROUND)) * 1000)

    return taken


def _resumed(side: Side) -> float:
    (task_id,) = jobs.create(side, wire.call("ask"))
    answers = jobs.answers_to(jobs.wait_for(side, task_id, "input_required"))
    begun = time.monotonic()
    ask(side.port, wire.update(task_id, answers))
    return float(wire.text_of(jobs.wait_for(side, task_id, "completed"))) - begun


def _polled(side: Side) -> float:
    """The poller polls again as soon as it has its answer, so the delay is that of the server."""
    (task_id,) = jobs.create(side, wire.call("stamp"))
    while (task := jobs.get(side, task_id))["status"] != "completed":
        pass
    return time.monotonic() - float(wire.text_of(task))


def _heard(side: Side) -> float:
    (task_id,) = jobs.create(side, wire.call("stamp"))
    with Listeners(side.port, wire.listen([task_id]), 1) as listeners:
        listeners.wait_for_streams()
        (last,) = listeners.wait_for(b'"status":"completed"')
        seen = time.monotonic()
    return seen - float(wire.text_of(json.loads(last)["params"]))
