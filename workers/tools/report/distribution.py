"""The distribution of a column's cells as labelled counts, for the report and its chart."""

import math
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from coatcheck.workers.tools.report.model import Bar
from coatcheck.workers.tools.report.table import BooleanColumn, Column, DateColumn, NumberColumn
from coatcheck.workers.tools.report.wording import exact_text, number_text, shortened

MAX_BARS = 12
"""The most bars that are distinguishable in the chart."""

MOST_DECIMALS = 12
"""Decimals of a range's bounds; narrower ranges are written in scientific notation."""

DATE_PREFIXES = (10, 7, 4, 3, 2, 1)
"""Leading characters of an ISO date that make a day, a month, a year, a decade (`202x`), and so on."""


def distribution(column: Column) -> tuple[Bar, ...]:
    """Return at most MAX_BARS labelled counts of the present cells: numbers and dates in order, texts by frequency.

    Periods without a row are omitted; ranges of numbers without a row are not. Texts beyond the limit are one bar,
    `(other)`.
    """
    if isinstance(column, NumberColumn):
        return _numbers([cell for cell in column.cells if cell is not None])
    if isinstance(column, DateColumn):
        return _dates([cell for cell in column.cells if cell is not None])
    if isinstance(column, BooleanColumn):
        return Bar("yes", column.cells.count(True)), Bar("no", column.cells.count(False))
    return _texts([cell for cell in column.cells if cell is not None])


def most_common(texts: Sequence[str], limit: int) -> tuple[Bar, ...]:
    """Return the most frequent texts with their counts, those of equal count in order of appearance."""
    return tuple(Bar(shortened(text), count) for text, count in Counter(texts).most_common(limit))


def _texts(texts: Sequence[str]) -> tuple[Bar, ...]:
    if len(set(texts)) <= MAX_BARS:
        return most_common(texts, MAX_BARS)
    common = most_common(texts, MAX_BARS - 1)
    return (*common, Bar("(other)", len(texts) - sum(bar.count for bar in common)))


def _numbers(numbers: Sequence[float]) -> tuple[Bar, ...]:
    """Return a bar for each number if they are few, else for each range, which includes its lower bound."""
    counts = Counter(numbers)
    if len(counts) <= MAX_BARS:
        return tuple(Bar(exact_text(number), counts[number]) for number in sorted(counts))
    lowest, highest = min(numbers), max(numbers)
    width = _round_width(max((highest - lowest) / (MAX_BARS - 2), sys.float_info.min))
    start = math.floor(lowest / width) * width
    last = min(int((highest - start) / width), MAX_BARS - 1)
    ranges = Counter(min(max(int((number - start) / width), 0), last) for number in numbers)
    decimals = min(max(0, -math.floor(math.log10(width))), MOST_DECIMALS)
    ends = [number_text(start + index * width, decimals) for index in range(last + 2)]
    return tuple(Bar(f"{ends[index]} to {ends[index + 1]}", ranges[index]) for index in range(last + 1))


def _round_width(width: float) -> float:
    """Round up to 1, 2, 5 or 10 times a power of ten, so that the bounds of the ranges are readable."""
    power = 10.0 ** math.floor(math.log10(width))
    return next((factor * power for factor in (1, 2, 5) if factor * power >= width), 10 * power)


def _dates(dates: Sequence[datetime]) -> tuple[Bar, ...]:
    """Return counts by the shortest period, from a day upwards, that needs at most MAX_BARS bars."""
    days = sorted(date.date().isoformat() for date in dates)
    for length in DATE_PREFIXES:
        periods = Counter(day[:length].ljust(4, "x") for day in days)
        if len(periods) <= MAX_BARS:
            break
    return tuple(Bar(period, count) for period, count in periods.items())
