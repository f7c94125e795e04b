"""What a poll costs when there are many records."""

import random

from bench import jobs, wire
from bench.context import Bench
from bench.figures import Figure
from bench.loader import copied_id, copy
from bench.meters import used_bytes
from bench.servers import COATCHECK, coatcheck, running
from tests.support.valkey import Valkey

BYTES = "many working: Redis bytes for each, without messages"

SAMPLE = 1_000
"""How many different tasks are polled."""


def polls_among(records: int) -> str:
    """The name of the figure."""
    return f"polls among {records:,} records"


def measure(bench: Bench) -> None:
    """Polls of tasks chosen at random, on a server of its own without an append-only file: loading is not measured."""
    with Valkey() as valkey:
        mine = coatcheck(valkey)
        here = Bench(bench.plan, valkey, valkey.client(), None, bench.figures)
        with running(mine):
            (original,) = jobs.create(mine, wire.call("noop"))
            made = 0
            for records in bench.plan.records:
                copy(here.redis, original, made, records)
                made = records
                chosen = random.Random(records).sample(range(records), SAMPLE)
                requests = [wire.get(copied_id(number)) for number in chosen]
                here.rates(polls_among(records), [mine], {COATCHECK: requests})
            note = f"{made:,} tasks, copied inside Redis"
            bench.figures.add(Figure.plain(BYTES, COATCHECK, "bytes", used_bytes(here.redis) / made, note=note))
