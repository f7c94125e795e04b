"""The table of a report: named columns, each of one kind. A missing cell is None."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field

Number = int | float
"""Integers stay integers, because a float keeps only 15 digits."""


@dataclass(frozen=True, slots=True)
class NumberColumn:
    """Finite numbers; at least one is present."""

    name: str
    cells: tuple[Number | None, ...]
    kind: Literal["number"] = "number"


@dataclass(frozen=True, slots=True)
class DateColumn:
    """Days or moments, all without a time zone or all in UTC; at least one is present."""

    name: str
    cells: tuple[datetime | None, ...]
    kind: Literal["date"] = "date"


@dataclass(frozen=True, slots=True)
class BooleanColumn:
    """Yes or no; at least one is present."""

    name: str
    cells: tuple[bool | None, ...]
    kind: Literal["boolean"] = "boolean"


@dataclass(frozen=True, slots=True)
class TextColumn:
    """Anything else, and columns that are empty from top to bottom."""

    name: str
    cells: tuple[str | None, ...]
    kind: Literal["text"] = "text"


Column = Annotated[NumberColumn | DateColumn | BooleanColumn | TextColumn, Field(discriminator="kind")]
Kind = Literal["number", "date", "boolean", "text"]


@dataclass(frozen=True, slots=True)
class Table:
    """One or more columns of the same length, in the order of the file."""

    columns: tuple[Column, ...]

    @property
    def row_count(self) -> int:
        return len(self.columns[0].cells)
