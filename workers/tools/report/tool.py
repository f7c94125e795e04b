"""The tool: load, outline, approval and figures; the result has Markdown, structured content and a chart."""

from datetime import timedelta
from typing import Annotated

from pydantic import Field

from coatcheck.workers.runs.context import Context
from coatcheck.workers.toolkit.content import Image, Text, ToolResult
from coatcheck.workers.toolkit.errors import ToolError
from coatcheck.workers.toolkit.inputs import Answer, Elicit
from coatcheck.workers.toolkit.tool import tool
from coatcheck.workers.tools.report.chart import draw_chart
from coatcheck.workers.tools.report.distribution import distribution
from coatcheck.workers.tools.report.figures import make_report
from coatcheck.workers.tools.report.markdown import as_markdown
from coatcheck.workers.tools.report.model import Report
from coatcheck.workers.tools.report.outline import Outline, Size, make_outline
from coatcheck.workers.tools.report.reading import read_csv
from coatcheck.workers.tools.report.table import Table
from coatcheck.workers.tools.report.wording import counted
from coatcheck.workers.tools.sample_tables import SAMPLES, sample_text

STAGES = 4
"""Stages of progress: table read, outline approved, figures computed, chart drawn."""


@tool(
    title="Generate a report",
    ttl=timedelta(days=2),
    output=Report,
    requires={"elicitation": {"form": {}}},
    annotations={"readOnlyHint": True, "openWorldHint": False},
)
def generate_report(
    ctx: Context,
    source: Annotated[
        str,
        Field(
            min_length=1,
            description=(
                "CSV text with the names of the columns in the first row, or the name of a bundled sample: "
                f"{', '.join(SAMPLES)}."
            ),
        ),
    ],
    size: Annotated[
        Size,
        Field(
            description=(
                "How deep: `small` has the figures of every column, `medium` adds distributions, "
                "`large` adds correlations and outliers too."
            )
        ),
    ] = "small",
) -> ToolResult:
    """Summarise a CSV table: an outline first; once a person has approved it, the report.

    The result holds the report as Markdown, the figures of every column as structured content, and a chart as a
    PNG image.
    """
    ctx.progress(0, STAGES, "Reading the table")
    table = ctx.step("load", load_table, source)
    ctx.progress(1, STAGES, "Making the outline")
    outline = ctx.step("outline", make_outline, table, size)
    comment = comment_of_approval(ctx.ask("approve_outline", approval_form(table, outline)))
    ctx.progress(2, STAGES, "Working out the figures")
    report = ctx.step("figures", make_report, source_label(source), table, size, outline)
    ctx.progress(3, STAGES, "Drawing the chart")
    charted = next(column for column in table.columns if column.name == outline.charted)
    chart = draw_chart(charted.name, distribution(charted))
    ctx.progress(4, STAGES, "Report ready")
    return ToolResult(
        content=[Text(as_markdown(report, outline, comment)), Image(chart, "image/png")], structured=report
    )


def load_table(source: str) -> Table:
    """Return the table in `source`, or the sample with that name. Text without a line break is taken for a name."""
    name = source.strip()
    if name not in SAMPLES and ("\n" in source or "\r" in source):
        return read_csv(source)
    if name not in SAMPLES:
        raise ToolError(
            f"There is no sample of that name. The samples are: {', '.join(SAMPLES)}. "
            "To report on a table of your own, send its CSV text: a header row, then the rows, each on a line."
        )
    return read_csv(sample_text(name))


def source_label(source: str) -> str:
    """Return the name of the source in the report: the sample's, or that it was sent."""
    name = source.strip()
    return name if name in SAMPLES else "your CSV"


def approval_form(table: Table, outline: Outline) -> Elicit:
    """Return the form for the approval of the outline."""
    return Elicit(
        f"{counted(table.row_count, 'row')}, {counted(len(table.columns), 'column')}. Approve this outline?\n\n"
        f"{outline.as_text()}",
        {
            "approved": Annotated[bool, Field(title="Approve the outline")],
            "comment": Annotated[str | None, Field(title="Comment", max_length=500)],
        },
    )


def comment_of_approval(verdict: Answer) -> str:
    """Return the approver's comment, which can be empty. Raises ToolError if the outline was not approved."""
    comment = str(verdict.content.get("comment") or "").strip()
    if not (verdict.accepted and verdict.content["approved"]):
        because = f" The comment was: {comment}" if comment else ""
        raise ToolError(
            f"The outline was not approved, so there is no report.{because} "
            "Call the tool again with another size, or with only the columns that the report should have."
        )
    return comment
