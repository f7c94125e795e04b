"""Find the kind of a column: the first one as which every present cell can be read, else text."""

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from coatcheck.workers.tools.report.table import (
    BooleanColumn,
    Column,
    DateColumn,
    Number,
    NumberColumn,
    TextColumn,
)

Value = TypeVar("Value")

MISSING = frozenset({"", "-", "na", "n/a", "nan", "null"})
"""Words for a missing cell, in any case."""

BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}
"""Words for yes and no, in any case."""

LARGEST_NUMBER = 1e50
"""A column with larger numbers is text: the squares of a correlation would overflow."""

DATE_FORMATS = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d")
"""Tried in this order after ISO 8601, for the whole column: if both match, the day comes first."""

LARGEST_INTEGER = 2**63
"""A larger integer is stored as a float: JSON libraries refuse it, or read it as one."""

# Without leading zeros: `00741` is a code, whose zeros matter.
_POINT_NUMBER = re.compile(r"[+-]?(?:0|[1-9][0-9]*|[1-9][0-9]{0,2}(?:,[0-9]{3})+)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_COMMA_NUMBER = re.compile(r"[+-]?(?:0|[1-9][0-9]*|[1-9][0-9]{0,2}(?:\.[0-9]{3})+)(?:,[0-9]+)?")


def typed_column(name: str, texts: Iterable[str]) -> Column:
    """Return the column of these cells, each read as the common kind."""
    cells = [None if text.casefold() in MISSING else text for text in map(str.strip, texts)]
    if all(cell is None for cell in cells):
        return TextColumn(name, tuple(cells))
    if (booleans := _read_all(cells, _boolean)) is not None:
        return BooleanColumn(name, booleans)
    for read_number in (_point_number, _comma_number):
        if (numbers := _read_all(cells, read_number)) is not None:
            return NumberColumn(name, numbers)
    for read_date in _DATE_READERS:
        dates = _read_all(cells, read_date)
        if dates is not None and _can_be_ordered(dates):
            return DateColumn(name, dates)
    return TextColumn(name, tuple(cells))


def _read_all(cells: Sequence[str | None], read: Callable[[str], Value | None]) -> tuple[Value | None, ...] | None:
    """Return each present cell as `read` converts it, or None if it cannot convert one."""
    values: list[Value | None] = []
    for cell in cells:
        value = None if cell is None else read(cell)
        if value is None and cell is not None:
            return None
        values.append(value)
    return tuple(values)


def _boolean(text: str) -> bool | None:
    return BOOLEANS.get(text.casefold())


def _point_number(text: str) -> Number | None:
    return _number(text.replace(",", "")) if _POINT_NUMBER.fullmatch(text) else None


def _comma_number(text: str) -> Number | None:
    return _number(text.replace(".", "").replace(",", ".")) if _COMMA_NUMBER.fullmatch(text) else None


def _number(text: str) -> Number | None:
    number = float(text)
    if abs(number) > LARGEST_NUMBER:
        return None
    is_whole = not set(text) & set(".eE") and abs(number) < LARGEST_INTEGER
    return int(text) if is_whole else number


def _iso_date(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        return moment.astimezone(UTC) if moment.tzinfo else moment
    except (ValueError, OverflowError):  # OverflowError: the time zone moves year 1 or 9999 out of the calendar
        return None


def _formatted_date(date_format: str, text: str) -> datetime | None:
    try:
        return datetime.strptime(text, date_format)  # noqa: DTZ007 - none of the formats has a zone
    except ValueError:
        return None


_DATE_READERS: tuple[Callable[[str], datetime | None], ...] = (
    _iso_date,
    *(partial(_formatted_date, date_format) for date_format in DATE_FORMATS),
)


def _can_be_ordered(dates: Iterable[datetime | None]) -> bool:
    """Return whether all dates have a time zone, or none has: Python cannot compare a mixture."""
    return len({date.tzinfo for date in dates if date is not None}) == 1
