"""OpenTelemetry spans, where that is installed and whoever runs this process has configured it.

Which spans are kept and where they go is the affair of `opentelemetry-instrument`, or of what a tool module sets up.
Source: OpenTelemetry semantic conventions for MCP; basic/index, "OpenTelemetry Trace Context".
"""

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, TypeVar

from coatcheck.workers.telemetry.logs import Facts
from coatcheck.workers.version import VERSION

try:
    from opentelemetry import propagate, trace
except ImportError:
    IS_INSTALLED = False
else:
    IS_INSTALLED = True

News = TypeVar("News")
Result = TypeVar("Result")

METHOD: Final = "mcp.method.name"
TOOL: Final = "gen_ai.tool.name"
CODE: Final = "rpc.response.status_code"
ERROR: Final = "error.type"
TASK: Final = "coatcheck.task.id"
RUN: Final = "coatcheck.run.number"
OUTCOME: Final = "coatcheck.run.outcome"
"""In which word a run ended, as in Flower."""

FAILED: Final = "failed"
"""The outcome that is an error of the run; a tool that says that it could not do it has done its work."""


class RequestSpan:
    """What is done for one request, as a tracer sees it."""

    def __init__(self, span: "trace.Span") -> None:
        self._span = span

    @contextmanager
    def active(self) -> Iterator[None]:
        """Spans that begin in the block are children of this one."""
        with trace.use_span(self._span, record_exception=False, set_status_on_exception=False):
            yield

    def through(self, work: Generator[News, None, Result]) -> Generator[News, None, Result]:
        """The same generator; the span is active while it works, and ends with it."""
        try:
            while True:
                with self.active():
                    try:
                        news = next(work)
                    except StopIteration as end:
                        result: Result = end.value
                        return result
                yield news
        finally:
            with self.active():
                work.close()
            self.end()

    def end(self) -> None:
        """It is over."""
        self._span.end()


def request_span(method: str, facts: Facts, parent: Mapping[str, str]) -> RequestSpan | None:
    """The span of a request, a child of the client's if its `_meta` named that; None when nobody listens."""
    if not _is_listened_to():
        return None
    name = f"{method} {facts['tool']}" if "tool" in facts else method
    return RequestSpan(_begun(name, trace.SpanKind.SERVER, {METHOD: method, **_named(facts)}, parent))


@contextmanager
def run_span(facts: Facts, parent: Mapping[str, str]) -> Iterator[list[str]]:
    """The block is one run; what it puts into the list is its outcome."""
    outcome: list[str] = []
    if not _is_listened_to():
        yield outcome
        return
    span = _begun(f"run {facts['tool']}", trace.SpanKind.CONSUMER, _named(facts), parent)
    # An exception is not told in its own words, which may quote arguments.
    with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
        yield outcome
        for word in outcome:
            span.set_attribute(OUTCOME, word)
            if word == FAILED:
                span.set_status(trace.StatusCode.ERROR)
                span.set_attribute(ERROR, word)


def know_task(task_id: str) -> None:
    """The span that is active here is about this task."""
    if _is_listened_to():
        trace.get_current_span().set_attribute(TASK, task_id)


def refused(code: int) -> None:
    """The request whose span is active here is answered with this JSON-RPC error."""
    if _is_listened_to():
        span = trace.get_current_span()
        span.set_attributes({CODE: str(code), ERROR: str(code)})
        span.set_status(trace.StatusCode.ERROR)


def carried() -> dict[str, str]:
    """The trace context that leads to the span that is active here; empty when there is none."""
    context: dict[str, str] = {}
    if _is_listened_to():
        propagate.inject(context)
    return context


def _is_listened_to() -> bool:
    """Somebody has configured where spans go."""
    return IS_INSTALLED and not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def _begun(
    name: str, kind: "trace.SpanKind", attributes: Mapping[str, str | int], parent: Mapping[str, str]
) -> "trace.Span":
    tracer = trace.get_tracer("coatcheck", VERSION)
    return tracer.start_span(name, propagate.extract(parent), kind, dict(attributes))


def _named(facts: Facts) -> dict[str, str | int]:
    """The facts of `coatcheck.workers.telemetry.logs` as attributes."""
    names = {"tool": TOOL, "task_id": TASK, "run": RUN}
    return {names[fact]: value for fact, value in facts.items() if fact in names}
