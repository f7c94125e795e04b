"""Compute the figures of a report from a table and its outline."""

import statistics
from collections.abc import Collection
from itertools import combinations

from coatcheck.workers.tools.report.distribution import distribution, most_common
from coatcheck.workers.tools.report.model import (
    BooleanFigures,
    ColumnFigures,
    Correlation,
    DateFigures,
    NumberFigures,
    Outlier,
    Outliers,
    Report,
    TextFigures,
)
from coatcheck.workers.tools.report.outline import Outline, Size
from coatcheck.workers.tools.report.table import BooleanColumn, Column, DateColumn, NumberColumn, Table
from coatcheck.workers.tools.report.wording import date_text

MOST_COMMON = 3
"""How many texts a summary names."""

FARTHEST = 5
"""How many outliers of each column a report lists."""

STRONGEST = 20
"""How many correlations a report lists."""

FEWEST_PAIRS = 3
"""The fewest rows for a correlation; two points are always perfectly correlated."""


def make_report(source: str, table: Table, size: Size, outline: Outline) -> Report:
    """Return the figures of every column, and correlations if the outline has them."""
    return Report(
        source=source,
        size=size,
        row_count=table.row_count,
        columns=tuple(_figures(column, outline) for column in table.columns),
        correlations=correlations(table, outline.columns("correlations")),
    )


def correlations(table: Table, names: Collection[str]) -> tuple[Correlation, ...]:
    """Return the correlations of pairs of the named number columns, strongest first; constant columns have none."""
    numeric = [column for column in table.columns if isinstance(column, NumberColumn) and column.name in names]
    found = [pair for first, second in combinations(numeric, 2) if (pair := _correlation(first, second))]
    return tuple(sorted(found, key=lambda pair: -abs(pair.coefficient))[:STRONGEST])


def _figures(column: Column, outline: Outline) -> ColumnFigures:
    present = len(column.cells) - column.cells.count(None)
    missing = len(column.cells) - present
    bars = distribution(column) if outline.columns("distributions") else ()
    if isinstance(column, NumberColumn):
        numbers = sorted(cell for cell in column.cells if cell is not None)
        lower, median, upper = statistics.quantiles(numbers, method="inclusive") if present > 1 else numbers * 3
        return NumberFigures(
            column.name,
            present,
            missing,
            minimum=numbers[0],
            lower_quartile=lower,
            median=median,
            upper_quartile=upper,
            maximum=numbers[-1],
            mean=statistics.fmean(numbers),
            standard_deviation=statistics.stdev(numbers) if present > 1 else None,
            distribution=bars,
            outliers=_outliers(column, lower, upper) if outline.columns("outliers") else None,
        )
    if isinstance(column, DateColumn):
        dates = [cell for cell in column.cells if cell is not None]
        return DateFigures(column.name, present, missing, date_text(min(dates)), date_text(max(dates)), bars)
    if isinstance(column, BooleanColumn):
        yes = column.cells.count(True)
        return BooleanFigures(column.name, present, missing, yes, present - yes, bars)
    texts = [cell for cell in column.cells if cell is not None]
    return TextFigures(column.name, present, missing, len(set(texts)), most_common(texts, MOST_COMMON), bars)


def _outliers(column: NumberColumn, lower_quartile: float, upper_quartile: float) -> Outliers:
    reach = 1.5 * (upper_quartile - lower_quartile)
    lower_fence, upper_fence = lower_quartile - reach, upper_quartile + reach
    outside = [
        Outlier(row, cell)
        for row, cell in enumerate(column.cells, 1)
        if cell is not None and not lower_fence <= cell <= upper_fence
    ]
    outside.sort(key=lambda outlier: -max(lower_fence - outlier.value, outlier.value - upper_fence))
    return Outliers(lower_fence, upper_fence, len(outside), tuple(outside[:FARTHEST]))


def _correlation(first: NumberColumn, second: NumberColumn) -> Correlation | None:
    pairs = [(a, b) for a, b in zip(first.cells, second.cells, strict=True) if a is not None and b is not None]
    first_cells, second_cells = zip(*pairs, strict=True) if pairs else ((), ())
    if len(pairs) < FEWEST_PAIRS or len(set(first_cells)) == 1 or len(set(second_cells)) == 1:
        return None
    try:
        coefficient = statistics.correlation(first_cells, second_cells)
    except statistics.StatisticsError:  # numbers so small that their squares are 0
        return None
    # Rounding can make a perfect correlation slightly larger than 1.
    return Correlation(first.name, second.name, max(-1.0, min(1.0, coefficient)), len(pairs))
