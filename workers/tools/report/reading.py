"""Read CSV text. Every fault is a ToolError that names the line and the remedy."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from coatcheck.workers.toolkit.errors import ToolError
from coatcheck.workers.tools.report.table import Table, TextColumn
from coatcheck.workers.tools.report.typing_columns import typed_column

DELIMITERS = ("\t", ";", ",", "|")
"""In order of preference for equal matches: a comma is also frequent in prose and in numbers."""

_QUOTED = re.compile(r'(\A|[\t;,|\r\n]) *"[^"]*+(?:""[^"]*+)*+"(?= *(?:[\t;,|\r\n]|\Z))')
"""A quoted cell, with the character before it."""

MAX_COLUMNS = 60
"""A person cannot check a form with more columns."""

MAX_ROWS = 20_000
"""Limits the work of one call to seconds."""

MAX_NAME_LENGTH = 100
"""Characters of a column's name; a longer text is not a header."""


def read_csv(text: str) -> Table:
    """Return the table in the text: a header row, then at least one row of the same width.

    The delimiter is the one for which most rows have the same width. Blank rows are skipped.
    """
    if "\0" in text:
        raise ToolError(
            "The CSV holds NUL bytes, so it is not plain text. Convert the file to UTF-8 CSV and send that."
        )
    text = text.removeprefix("\ufeff")
    rows = _filled_rows(text, _delimiter_of(text))
    _, header = next(rows, (0, []))
    names = [" ".join(name.split()) for name in header]
    _check_header(names)
    body: list[list[str]] = []
    for line, row in rows:
        if len(row) != len(names):
            raise ToolError(
                f"Rows differ in width: {len(names)} in the header, {len(row)} in the row that ends on line {line}. "
                "Give every row as many cells, and put double quotes around a cell that holds the delimiter."
            )
        if len(body) == MAX_ROWS:
            raise ToolError(f"The CSV has more than {MAX_ROWS} rows. Send a part of it, or a summary by group.")
        body.append(row)
    if not body:
        raise ToolError("The CSV has a header but no rows. Add at least one row below the header.")
    columns = tuple(typed_column(name, cells) for name, cells in zip(names, zip(*body, strict=True), strict=True))
    if len(columns) == 1 and isinstance(columns[0], TextColumn):
        raise ToolError(
            "Only one column of text was found, which is no table. "
            "Separate the columns by comma, semicolon, tab or |, the same one in every row."
        )
    return Table(columns)


def _delimiter_of(text: str) -> str:
    """Return the delimiter for which most rows have as many cells as the header, preferably more than one.

    A quoted cell counts as one cell, whatever its content.
    """
    lines = re.split(r"[\r\n]+", _QUOTED.sub(r"\1x", text))

    def fit(delimiter: str) -> tuple[bool, float, int]:
        width, *widths = [line.count(delimiter) + 1 for line in lines if line.strip(f"{delimiter} \t")] or [0]
        return width > 1, widths.count(width) / max(len(widths), 1), width

    return max(DELIMITERS, key=fit)


def _filled_rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row that is not blank, with the number of its last line."""
    # newline="" leaves line endings to csv, which distinguishes those inside quotes from those between rows.
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num, row
    except csv.Error as error:
        raise ToolError(
            f"The CSV cannot be read at line {reader.line_num}: {error}. "
            "Close every double quote, and write a double quote inside a quoted cell twice."
        ) from error


def _check_header(names: Sequence[str]) -> None:
    """Raise ToolError unless these can be names of columns: not blank, not too long, and unique."""
    if not names:
        raise ToolError("The CSV is empty. Send a header row and at least one row below it.")
    if len(names) > MAX_COLUMNS:
        raise ToolError(
            f"The CSV has {len(names)} columns; {MAX_COLUMNS} is the limit. Leave out those you do not need."
        )
    for position, name in enumerate(names, 1):
        if not name:
            raise ToolError(f"Column {position} has no name. Name every column in the first row.")
        if len(name) > MAX_NAME_LENGTH:
            raise ToolError(f"The name of column {position} is longer than {MAX_NAME_LENGTH} characters. Shorten it.")
        if typed_column(name, [name]).kind in ("number", "date"):
            raise ToolError(
                f"The first row does not look like a header: cell {position} is a number or a date. "
                "Put a row with the names of the columns first, such as `day,region,units`."
            )
    for name, following in pairwise(sorted(names, key=str.casefold)):
        if name.casefold() == following.casefold():
            raise ToolError(f"Two columns have the name {name!r}. Give every column a name of its own.")
