"""What a poll costs when there are many records."""

import random
from contextlib import ExitStack
from functools import partial

from bench import jobs, wire
from bench.context import CONNECTIONS, Bench
from bench.figures import Figure
from bench.loader import copied_id, copy
from bench.meters import used_bytes
from bench.servers import COATCHECK, running
from tests.support.valkey import Valkey

BYTES = "many working: Redis bytes for each, without messages"

SAMPLE = 1_000
"""How many different tasks are polled."""


def polls_among(records: int) -> str:
    """Return the name of the figure."""
    return f"polls among {records:,} records"


def measure(bench: Bench) -> None:
    """Poll tasks chosen at random, in turns among few and many records, each on a server of its own.

    The servers have no append-only file: loading is not measured.
    """
    sides, take = [], {}
    with ExitStack() as stack:
        for records in bench.plan.records:
            valkey = stack.enter_context(Valkey())
            here = Bench(bench.plan, valkey, valkey.client(), None)
            mine = here.coatcheck()
            mine.name = polls_among(records)
            stack.enter_context(running(mine))
            (original,) = jobs.create(mine, wire.call("noop"))
            copy(here.redis, original, 0, records)
            chosen = random.Random(records).sample(range(records), SAMPLE)
            sides.append(mine)
            take[mine.name] = partial(here.rate, [wire.get(copied_id(number)) for number in chosen], CONNECTIONS)
        for what, readings in bench.turns(sides, take).items():
            bench.figures.add(Figure(what, COATCHECK, "/s", tuple(readings)))
        note = f"{records:,} tasks, copied inside Redis"
        bench.figures.add(Figure.plain(BYTES, COATCHECK, "bytes", used_bytes(here.redis) / records, note=note))
