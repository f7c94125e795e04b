"""The finished report as structured content; its JSON Schema is the tool's output schema."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from coatcheck.workers.tools.report.outline import Size
from coatcheck.workers.tools.report.table import Number


@dataclass(frozen=True, slots=True)
class Bar:
    """How many rows fall under one label."""

    label: str
    count: int


@dataclass(frozen=True, slots=True)
class Outlier:
    """A cell far from the rest; `row` counts from 1 below the header, blank rows left out."""

    row: int
    value: Number


@dataclass(frozen=True, slots=True)
class Outliers:
    """Cells more than 1.5 times the distance of the quartiles outside of these, the farthest first."""

    lower_fence: float
    upper_fence: float
    count: int
    farthest: tuple[Outlier, ...]


@dataclass(frozen=True, slots=True)
class NumberFigures:
    """A column of numbers; no deviation where there is one number only."""

    name: str
    count: int
    missing: int
    minimum: Number
    lower_quartile: Number
    median: Number
    upper_quartile: Number
    maximum: Number
    mean: float
    standard_deviation: float | None
    distribution: tuple[Bar, ...] = ()
    outliers: Outliers | None = None
    kind: Literal["number"] = "number"


@dataclass(frozen=True, slots=True)
class DateFigures:
    """A column of dates, `first` and `last` in ISO 8601."""

    name: str
    count: int
    missing: int
    first: str
    last: str
    distribution: tuple[Bar, ...] = ()
    kind: Literal["date"] = "date"


@dataclass(frozen=True, slots=True)
class BooleanFigures:
    """A column of yes and no."""

    name: str
    count: int
    missing: int
    yes: int
    no: int
    distribution: tuple[Bar, ...] = ()
    kind: Literal["boolean"] = "boolean"


@dataclass(frozen=True, slots=True)
class TextFigures:
    """A column of texts, the most common first; long texts are cut."""

    name: str
    count: int
    missing: int
    distinct: int
    most_common: tuple[Bar, ...]
    distribution: tuple[Bar, ...] = ()
    kind: Literal["text"] = "text"


ColumnFigures = Annotated[NumberFigures | DateFigures | BooleanFigures | TextFigures, Field(discriminator="kind")]


@dataclass(frozen=True, slots=True)
class Correlation:
    """Pearson's coefficient of two columns, over the `pairs` of rows where both are present."""

    first: str
    second: str
    coefficient: float
    pairs: int


@dataclass(frozen=True, slots=True)
class Report:
    """The figures of a table; distributions, correlations and outliers only where the size asks for them."""

    source: str
    size: Size
    row_count: int
    columns: tuple[ColumnFigures, ...]
    correlations: tuple[Correlation, ...] = ()
