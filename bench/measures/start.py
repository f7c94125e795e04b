"""How long a web process takes from its start to its first answer."""

import time

import psutil

from bench.context import Bench
from bench.figures import Reading
from bench.servers import COATCHECK, Side, running

STARTED = "from the start of the web command to the first answer"
REPLACED = "from the end of a web process to the first answer of the next"


def measure(bench: Bench) -> None:
    """Start each side's web command as it is; then replace the only web process of a gunicorn that runs."""
    sides = [bench.bare(), bench.coatcheck(), *bench.peers()]
    bench.compare(STARTED, "s", sides, {side.name: _started for side in sides})
    mine = bench.coatcheck({"WEB_CONCURRENCY": "1"})
    with running(mine):
        bench.compare(REPLACED, "s", [mine], {COATCHECK: _replaced})


def _started(side: Side) -> Reading:
    begun = time.perf_counter()
    with running(side):
        return Reading(time.perf_counter() - begun)


def _replaced(side: Side) -> Reading:
    (process,) = psutil.Process(side.webs[0].pid).children()
    begun = time.perf_counter()
    process.kill()
    side.wait_for_answer()
    return Reading(time.perf_counter() - begun)
