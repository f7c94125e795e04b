"""The outline of a report, which a person approves before the report is made."""

from dataclasses import dataclass
from typing import Literal

from coatcheck.workers.tools.report.table import Kind, Table

Size = Literal["small", "medium", "large"]
Topic = Literal["number", "date", "boolean", "text", "distributions", "correlations", "outliers"]

HEADINGS: dict[Topic, str] = {
    "number": "Numbers",
    "date": "Dates",
    "boolean": "Yes or no",
    "text": "Texts",
    "distributions": "Distributions",
    "correlations": "Correlations",
    "outliers": "Outliers",
}
"""The heading of each section, in the order of the report."""

MAX_CORRELATED = 20
"""How many columns are compared with each other: the first ones of the table."""

KINDS_TO_CHART: tuple[Kind, ...] = ("number", "text", "date", "boolean")
"""The chart shows the first column of the first kind here that the table has."""


@dataclass(frozen=True, slots=True)
class Section:
    """A section of a report: its topic and its columns."""

    topic: Topic
    columns: tuple[str, ...]

    @property
    def heading(self) -> str:
        return HEADINGS[self.topic]


@dataclass(frozen=True, slots=True)
class Outline:
    """The sections of a report in order, and the column whose distribution the chart shows."""

    sections: tuple[Section, ...]
    charted: str

    def columns(self, topic: Topic) -> tuple[str, ...]:
        """Return the columns of the section on this topic; none if there is no such section."""
        return next((section.columns for section in self.sections if section.topic == topic), ())

    def as_text(self) -> str:
        """Return a numbered line for each section, and one for the chart."""
        lines = [
            f"{number}. {section.heading}: {', '.join(section.columns)}"
            for number, section in enumerate(self.sections, 1)
        ]
        return "\n".join([*lines, f"Chart: distribution of {self.charted}"])


def make_outline(table: Table, size: Size) -> Outline:
    """Return an outline with a section for each kind of column, as extensive as the size says."""
    covered: dict[Topic, tuple[str, ...]] = {
        kind: tuple(column.name for column in table.columns if column.kind == kind) for kind in KINDS_TO_CHART
    }
    if size != "small":
        covered["distributions"] = tuple(column.name for column in table.columns)
    if size == "large":
        covered["correlations"] = covered["number"][:MAX_CORRELATED] if len(covered["number"]) > 1 else ()
        covered["outliers"] = covered["number"]
    return Outline(
        sections=tuple(Section(topic, covered[topic]) for topic in HEADINGS if covered.get(topic)),
        charted=next(covered[kind][0] for kind in KINDS_TO_CHART if covered[kind]),
    )
