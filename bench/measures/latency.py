"""How often a second a task can be polled where Redis is not on the same machine."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import ceilings, jobs, wire
from bench.context import Bench
from bench.servers import BARE, ROOT, running
from tests.support.processes import Process
from tests.support.valkey import Valkey

ROUND_TRIP_MS = 2

POLLS = f"polls: one working task, {ROUND_TRIP_MS} ms between web and Redis"
ALONE = f"{POLLS}, one caller"


def measure(bench: Bench) -> None:
    """Poll a working task on each side, through the same proxy that delays both directions."""
    with delayed(bench.valkey, ROUND_TRIP_MS / 2) as url:
        bare, *doors = (
            replace(side, env={name: value.replace(bench.valkey.url, url) for name, value in side.env.items()})
            for side in (bench.bare(), bench.coatcheck(), *bench.peers())
        )
        ceilings.fill(bench.redis)
        with running(bare, *doors):
            polls = {
                side.name: [wire.get(task_id) for task_id in jobs.create(side, wire.call("noop"))] for side in doors
            }
            requests = {BARE: [wire.post("/small")], **polls}
            bench.rates(POLLS, [bare, *doors], requests)
            bench.rates(ALONE, [bare, *doors], requests, callers=1)


@contextmanager
def delayed(valkey: Valkey, delay_ms: float) -> Iterator[str]:
    """Yield an address of this server to which the way is longer, in each direction."""
    with TemporaryDirectory(prefix="coatcheck-") as folder:
        path = Path(folder, "delayed.sock")
        command = [sys.executable, "-m", "bench.delay", str(path), str(valkey.socket), str(delay_ms)]
        with Process(command, name="delay", folder=path.parent, cwd=ROOT) as proxy:
            proxy.wait_for_line("ready")
            yield f"unix://{path}"
