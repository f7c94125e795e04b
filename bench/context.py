"""What every measurement is given."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import TypeVar

from redis import Redis

from bench import servers
from bench.figures import Figure, Figures, Reading
from bench.load import Caller, Load
from bench.meters import Meter
from bench.servers import Side, only
from tests.support.valkey import Valkey

T = TypeVar("T")

CONNECTIONS = 16
"""Callers at a time, for rates."""

WARM_S = 0.3
"""Before the clock starts, so that connections and caches are there."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How long and how often."""

    rounds: int = 5
    seconds: float = 1.5
    """For each rate in each round."""
    calls: int = 60
    """One after the other, in each round."""
    backlog: int = 600
    """Messages that a worker gets at once."""
    records: tuple[int, ...] = (1_000, 10_000, 100_000, 1_000_000)
    parked: int = 100_000
    steady: int = 10_000
    """Tasks over which memory must not grow."""
    listeners: int = 1_000
    waiting: int = 2_000
    """Synchronous calls at once."""


QUICK = Plan(
    rounds=2,
    seconds=0.5,
    calls=20,
    backlog=200,
    records=(1_000, 100_000),
    parked=10_000,
    steady=1_000,
    listeners=100,
    waiting=100,
)
"""To see whether it works, not how fast it is."""


@dataclass(frozen=True)
class Bench:
    """The plan, the Redis that all sides share, and where the figures go."""

    plan: Plan
    valkey: Valkey
    redis: Redis
    peer_python: Path | None
    """None: the peer is left out."""
    figures: Figures = field(default_factory=Figures)

    def coatcheck(self, env: Mapping[str, str] | None = None) -> Side:
        """Coatcheck, not started."""
        return servers.coatcheck(self.valkey, env)

    def bare(self) -> Side:
        """The bare ceilings, not started."""
        return servers.bare(self.valkey)

    def peers(self) -> list[Side]:
        """The peer, not started, unless it is left out."""
        return [servers.peer(self.valkey, self.peer_python)] if self.peer_python else []

    def compare(
        self, what: str, unit: str, running: Sequence[Side], take: Mapping[str, Callable[[Side], Reading]]
    ) -> None:
        """A figure for each side named in `take`, side by side: in every round each has its turn."""
        taken = self.turns(running, take)
        for name, readings in taken.items():
            self.figures.add(Figure(what, name, unit, tuple(readings)))

    def turns(self, running: Sequence[Side], take: Mapping[str, Callable[[Side], T]]) -> dict[str, list[T]]:
        """What each side named in `take` gave in each round, while the others of those that run stood still."""
        taken: dict[str, list[T]] = {name: [] for name in take}
        for _ in range(self.plan.rounds):
            for side in running:
                if side.name in take:
                    with only(side, running):
                        taken[side.name].append(take[side.name](side))
        return taken

    def rates(
        self, what: str, running: Sequence[Side], requests: Mapping[str, Sequence[bytes]], callers: int = CONNECTIONS
    ) -> None:
        """How often a second each side named in `requests` answers them.

        Each caller sends the same request for ever; with more requests than callers, each sends its share in turn.
        """
        self.compare(what, "/s", running, {name: partial(self.rate, sent, callers) for name, sent in requests.items()})

    def rate(self, requests: Sequence[bytes], callers: int, side: Side) -> Reading:
        """Return how often a second the side answers these requests, each caller sending its share in turn."""
        turns = [_in_turn(requests[number % len(requests) :: callers]) for number in range(callers)]
        with Load(side.port, turns) as load:
            load.go_on(WARM_S)
            with Meter(side, self.redis) as used:
                answers = load.go_on(self.plan.seconds)
        return used.reading(answers, self.plan.seconds)


def _in_turn(requests: Sequence[bytes]) -> Caller:
    turn = cycle(requests)
    while True:
        yield next(turn)
