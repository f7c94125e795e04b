"""Write a report as Markdown: the sections of its outline, with a table in each."""

import re
from collections.abc import Callable, Iterable, Sequence

from coatcheck.workers.tools.report.model import (
    Bar,
    BooleanFigures,
    ColumnFigures,
    DateFigures,
    NumberFigures,
    Outliers,
    Report,
    TextFigures,
)
from coatcheck.workers.tools.report.outline import Outline, Topic
from coatcheck.workers.tools.report.wording import counted, number_text

# An underscore inside a word is not markup, and is frequent in names of columns.
_MARKUP = re.compile(r"([\\`*\[\]<>|]|(?<!\w)_|_(?!\w))")


def as_markdown(report: Report, outline: Outline, comment: str = "") -> str:
    """Return the report with the sections of its outline and the approver's comment. Markup in cells is escaped."""
    missing = sum(figures.missing for figures in report.columns)
    counts = (report.row_count, "row"), (len(report.columns), "column"), (missing, "missing cell")
    extent = ", ".join(counted(count, noun) for count, noun in counts) + "."
    chart = f"The chart shows the distribution of {_plain(outline.charted)}."
    parts = [f"# Report: {_plain(report.source)}", f"{extent} {chart}"]
    if comment:
        parts.append(f"> Approved with the comment: {_plain(comment)}")
    for section in outline.sections:
        parts += [f"## {section.heading}", _SECTIONS[section.topic](report)]
    return "\n\n".join(parts) + "\n"


def _numbers(report: Report) -> str:
    return _table(
        (
            "column",
            "count",
            "missing",
            "minimum",
            "lower quartile",
            "median",
            "upper quartile",
            "maximum",
            "mean",
            "deviation",
        ),
        (
            (
                figures.name,
                figures.count,
                figures.missing,
                figures.minimum,
                figures.lower_quartile,
                figures.median,
                figures.upper_quartile,
                figures.maximum,
                figures.mean,
                figures.standard_deviation,
            )
            for figures in report.columns
            if isinstance(figures, NumberFigures)
        ),
    )


def _dates(report: Report) -> str:
    return _table(
        ("column", "count", "missing", "first", "last"),
        (
            (figures.name, figures.count, figures.missing, figures.first, figures.last)
            for figures in report.columns
            if isinstance(figures, DateFigures)
        ),
    )


def _booleans(report: Report) -> str:
    return _table(
        ("column", "count", "missing", "yes", "no"),
        (
            (figures.name, figures.count, figures.missing, figures.yes, figures.no)
            for figures in report.columns
            if isinstance(figures, BooleanFigures)
        ),
    )


def _texts(report: Report) -> str:
    return _table(
        ("column", "count", "missing", "distinct", "most common"),
        (
            (figures.name, figures.count, figures.missing, figures.distinct, _counts(figures.most_common))
            for figures in report.columns
            if isinstance(figures, TextFigures)
        ),
    )


def _distributions(report: Report) -> str:
    return "\n\n".join(_distribution(figures) for figures in report.columns)


def _distribution(figures: ColumnFigures) -> str:
    heading = f"### {_plain(figures.name)}"
    if not figures.distribution:
        return f"{heading}\n\nThe column is empty."
    return f"{heading}\n\n{_table((figures.kind, 'rows'), ((bar.label, bar.count) for bar in figures.distribution))}"


def _correlations(report: Report) -> str:
    if not report.correlations:
        return "No two columns vary together in enough rows."
    return _table(
        ("first", "second", "coefficient", "rows"),
        ((pair.first, pair.second, pair.coefficient, pair.pairs) for pair in report.correlations),
    )


def _outliers(report: Report) -> str:
    return _table(
        ("column", "expected from", "expected to", "outliers", "farthest"),
        (
            (figures.name, found.lower_fence, found.upper_fence, found.count, _farthest(found))
            for figures in report.columns
            if isinstance(figures, NumberFigures) and (found := figures.outliers)
        ),
    )


def _farthest(found: Outliers) -> str:
    return ", ".join(f"{number_text(outlier.value)} in row {outlier.row}" for outlier in found.farthest)


def _counts(bars: Iterable[Bar]) -> str:
    return ", ".join(f"{bar.label} ({bar.count})" for bar in bars)


def _table(header: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in row)} |" for row in (header, ["---"] * len(header), *rows))


def _cell(cell: str | float | None) -> str:
    if cell is None:
        return ""
    return _plain(cell) if isinstance(cell, str) else number_text(cell)


def _plain(text: str) -> str:
    """Return the text on one line with escaped markup."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))


_SECTIONS: dict[Topic, Callable[[Report], str]] = {
    "number": _numbers,
    "date": _dates,
    "boolean": _booleans,
    "text": _texts,
    "distributions": _distributions,
    "correlations": _correlations,
    "outliers": _outliers,
}
