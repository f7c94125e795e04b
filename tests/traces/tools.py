"""Tools of a deployment whose processes write their spans into a file, as an operator's own configuration would."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from coatcheck import Context, Elicit, ProtocolError, tool

SPANS = "COATCHECK_TEST_SPANS"
"""The variable that names the file of spans; without it nothing is configured."""


class FileExporter(SpanExporter):
    """Writes each span as one line of JSON."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        with Path(os.environ[SPANS]).open("a") as file:
            file.writelines(json.dumps(json.loads(span.to_json())) + "\n" for span in spans)
        return SpanExportResult.SUCCESS


if SPANS in os.environ:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(FileExporter()))
    trace.set_tracer_provider(provider)


@tool()
def ask(ctx: Context) -> str:
    """Does something that has a span of its own, then asks."""
    with trace.get_tracer("author").start_as_current_span("the author's own"):
        ctx.ask("name", Elicit("Your name?", {"name": str}))
    return "done"


@tool(mode="sync")
def awaited() -> str:
    """Is waited for."""
    return "done"


@tool()
def refuse() -> str:
    """Fails with a JSON-RPC error of its own."""
    raise ProtocolError(-31999, "Not today")


@tool()
def trace_of(ctx: Context) -> dict[str, str]:
    """What the job was told of the caller's trace."""
    return ctx.trace
