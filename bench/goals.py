"""What the figures ought to be: ratios in one run where that is possible, so that a slow machine changes nothing."""

from collections.abc import Iterator
from dataclasses import dataclass

from bench.context import Plan
from bench.figures import Figure, Figures
from bench.measures import creations, inputs, latency, memory, polls, scale, start, streams, throughput, waiting
from bench.servers import BARE, COATCHECK, PEER

FLAT = 1.1
"""Times a cost that still counts as the same cost, on a machine that never measures the same twice."""

MAX_BYTES = 2048
"""Of Redis, for a parked or a completed task with small arguments."""

MAX_IDLE = 5.0
"""Redis commands a second, for each process."""

MAX_GROWTH = 0.05
"""Of the memory at rest, over the tasks of `memory`."""


@dataclass(frozen=True, slots=True)
class Goal:
    """One thing that was aimed at, and what came of it."""

    text: str
    limit: float
    value: float
    at_least: bool
    by_cpu: float | None = None
    """The same ratio by processor time, which other programs on the machine disturb less."""

    @property
    def is_met(self) -> bool:
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    @property
    def missed_by(self) -> float:
        """The share of the limit that is lacking, or too much."""
        return abs(self.value - self.limit) / self.limit if self.limit else self.value


def goals(figures: Figures, plan: Plan) -> list[Goal]:
    """Every goal whose figures were measured."""
    return [
        *_rates(figures),
        *_latency(figures),
        *_steady_costs(figures, plan),
        *_at_most(figures),
        *_growth(figures),
        *_waiting(figures, plan),
    ]


def _rates(figures: Figures) -> Iterator[Goal]:
    for what in (polls.ONE, polls.MANY):
        yield from _ratio(figures, what, BARE, 0.95)
        yield from _ratio(figures, what, PEER, 3.5)
    yield from _ratio(figures, polls.LARGE, BARE, 0.75)
    yield from _ratio(figures, polls.LARGE, PEER, 3)
    yield from _ratio(figures, latency.POLLS, PEER, 8)
    yield from _ratio(figures, creations.CREATIONS, BARE, 0.7)
    yield from _ratio(figures, creations.CREATIONS, PEER, 2)
    yield from _ratio(figures, throughput.WORKERS, BARE, 0.6)
    yield from _ratio(figures, throughput.WORKERS, PEER, 3)
    yield from _ratio(figures, throughput.FIFTY, PEER, 3)


def _ratio(figures: Figures, what: str, other: str, limit: float) -> Iterator[Goal]:
    mine, theirs = figures.find(what, COATCHECK), figures.find(what, other)
    if mine and theirs:
        name = "the bare ceiling" if other == BARE else other
        by_cpu = theirs.cpu_ms / mine.cpu_ms
        yield Goal(f"{what}: at least {limit:g} × {name}", limit, mine.median / theirs.median, True, by_cpu)


def _latency(figures: Figures) -> Iterator[Goal]:
    for other, limit, name in ((BARE, 2.0, "the no-op Celery round trip"), (PEER, 1.0, PEER)):
        mine, theirs = figures.find(throughput.P50, COATCHECK), figures.find(throughput.P50, other)
        if mine and theirs:
            yield Goal(f"{throughput.P50}: at most {limit:g} × {name}", limit, mine.median / theirs.median, False)


def _steady_costs(figures: Figures, plan: Plan) -> Iterator[Goal]:
    few, many = scale.polls_among(plan.records[0]), scale.polls_among(plan.records[-1])
    for text, small, large in (
        (f"cost of a poll among {plan.records[-1]:,} records, against {plan.records[0]:,}", few, many),
        ("cost of a poll of a task with 500 KB of arguments, against none", polls.ONE, polls.ARGUMENTS),
    ):
        one, other = figures.find(small, COATCHECK), figures.find(large, COATCHECK)
        if one and other:
            yield Goal(f"{text}: the same (at most {FLAT:g} ×)", FLAT, _cost(other) / _cost(one), False)


def _cost(figure: Figure) -> float:
    """Processor time of a poll, that of Redis with it."""
    return min(one.cpu_ms + one.redis_cpu_ms for one in figure.readings)


def _at_most(figures: Figures) -> Iterator[Goal]:
    if figure := figures.find(polls.ONE, COATCHECK):
        yield Goal("Redis round trips of a poll: 1", 1.05, figure.trips, False)
    for text, what, limit in (
        (f"{memory.PARKED}: at most {MAX_BYTES}", memory.PARKED, MAX_BYTES),
        (f"{memory.COMPLETED}: at most {MAX_BYTES}", memory.COMPLETED, MAX_BYTES),
        (f"{memory.IN_BROKER}: none", memory.IN_BROKER, 0),
        (f"{memory.IDLE}: at most {MAX_IDLE:g} a second", memory.IDLE, MAX_IDLE),
        (f"{throughput.STUCK}: none", throughput.STUCK, 0),
        (f"{streams.DELIVERY}: at most 25 ms", streams.DELIVERY, 25),
        (f"{streams.STREAM}: at most 12 KB", streams.STREAM, 12),
        (f"{waiting.MEMORY}: at most 40 KB", waiting.MEMORY, 40),
        (f"{start.STARTED}: at most 1 s", start.STARTED, 1),
        (f"{start.REPLACED}: at most 1 s", start.REPLACED, 1),
    ):
        if figure := figures.find(what, COATCHECK):
            yield Goal(text, limit, figure.median, False)


def _growth(figures: Figures) -> Iterator[Goal]:
    for what, rest in ((memory.WEB_GROWTH, memory.WEB_RSS), (memory.WORKER_GROWTH, memory.WORKER_RSS)):
        grown, at_rest = figures.find(what, COATCHECK), figures.find(rest, COATCHECK)
        if grown and at_rest:
            share = grown.median / at_rest.median
            yield Goal(f"{what} {grown.note}: at most {MAX_GROWTH:.0%}", MAX_GROWTH, share, False)


def _waiting(figures: Figures, plan: Plan) -> Iterator[Goal]:
    if figure := figures.find(waiting.WAITING, COATCHECK):
        yield Goal(f"{waiting.WAITING}: at least {plan.waiting:,}", plan.waiting, figure.median, True)
    idle, busy = figures.find(waiting.IDLE_P99, COATCHECK), figures.find(waiting.WAITING_P99, COATCHECK)
    if idle and busy:
        yield Goal(f"{waiting.WAITING_P99}: at most 3 × its idle value", 3, busy.median / idle.median, False)


COMPARED = (
    polls.ONE,
    polls.MANY,
    polls.LARGE,
    latency.POLLS,
    creations.CREATIONS,
    throughput.WORKERS,
    throughput.FIFTY,
    throughput.P50,
    throughput.P99,
    inputs.RESUMED,
    inputs.POLLED,
    start.STARTED,
    memory.PARKED,
    memory.COMPLETED,
)
"""What the plot shows, side by side."""
