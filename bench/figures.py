"""What was measured, and how it is shown."""

import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Reading:
    """What one round gave on one side."""

    value: float
    cpu_ms: float = 0.0
    """Processor time of the side's processes for each operation."""
    redis_cpu_ms: float = 0.0
    trips: float = 0.0
    """Times that Redis read from a socket, for each operation."""
    client_cpu_ms: float = 0.0
    """Processor time of the load client for each operation; far below that of the side, or the client is measured."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One thing that was measured on one side, once in each round."""

    what: str
    side: str
    unit: str
    readings: tuple[Reading, ...]
    note: str = ""

    @classmethod
    def plain(cls, what: str, side: str, unit: str, *values: float, note: str = "") -> "Figure":
        """A figure whose cost was not measured; without values it tells why in its note."""
        return cls(what, side, unit, tuple(map(Reading, values)), note)

    @property
    def median(self) -> float:
        return statistics.median(one.value for one in self.readings)

    @property
    def cpu_ms(self) -> float:
        return statistics.median(one.cpu_ms for one in self.readings)

    @property
    def redis_cpu_ms(self) -> float:
        return statistics.median(one.redis_cpu_ms for one in self.readings)

    @property
    def trips(self) -> float:
        return statistics.median(one.trips for one in self.readings)

    @property
    def client_cpu_ms(self) -> float:
        return statistics.median(one.client_cpu_ms for one in self.readings)

    @property
    def shown(self) -> str:
        """The median with the lowest and the highest round."""
        values = [one.value for one in self.readings]
        if not values:
            return "-"
        text = f"{number(self.median)} {self.unit}"
        return f"{text} ({number(min(values))} to {number(max(values))})" if len(values) > 1 else text

    @property
    def costs(self) -> str:
        """Processor time and round trips of one operation, as far as they were measured."""
        if not self.readings:
            return ""
        parts = ((self.cpu_ms, "ms"), (self.redis_cpu_ms, "ms Redis"), (self.trips, "trips"))
        return ", ".join(f"{number(value)} {unit}" for value, unit in parts if value)


@dataclass
class Figures:
    """All figures, in the order in which they came."""

    _all: dict[tuple[str, str], Figure] = field(default_factory=dict)

    def add(self, figure: Figure) -> None:
        """The figure is there, and has been printed."""
        self._all[figure.what, figure.side] = figure
        print(f"{figure.what:56} {figure.side:14} {figure.shown:34} {figure.costs} {figure.note}", flush=True)

    def find(self, what: str, side: str) -> Figure | None:
        """The figure, if it was measured."""
        found = self._all.get((what, side))
        return found if found and found.readings else None

    def __iter__(self) -> Iterator[Figure]:
        return iter(self._all.values())


def percentile(values: Iterable[float], percent: int) -> float:
    """The value that this share of all values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)]


def number(value: float) -> str:
    """Three digits or so, thousands set apart."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"
