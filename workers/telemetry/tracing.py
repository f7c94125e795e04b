"""OpenTelemetry spans, if it is installed and configured.

`opentelemetry-instrument`, or the set-up in a tool module, decides which spans are sampled and exported.

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
"""The attribute with the outcome of a run, as in Flower."""

FAILED: Final = "failed"
"""The outcome that is an error of the span. A result with `isError` is not one."""


class RequestSpan:
    """The span of one request."""

    def __init__(self, span: "trace.Span") -> None:
        self._span = span

    @contextmanager
    def active(self) -> Iterator[None]:
        """Make this the current span for the length of the block."""
        with trace.use_span(self._span, record_exception=False, set_status_on_exception=False):
            yield

    def through(self, work: Generator[News, None, Result]) -> Generator[News, None, Result]:
        """Return the generator with this as the current span while it works. The span ends with the generator."""
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
        """End the span."""
        self._span.end()


def request_span(method: str, facts: Facts, parent: Mapping[str, str]) -> RequestSpan | None:
    """Start the span of a request, a child of the client's span in `parent`; None without a tracer provider."""
    if not _is_listened_to():
        return None
    name = f"{method} {facts['tool']}" if "tool" in facts else method
    return RequestSpan(_begun(name, trace.SpanKind.SERVER, {METHOD: method, **_named(facts)}, parent))


@contextmanager
def run_span(facts: Facts, parent: Mapping[str, str]) -> Iterator[list[str]]:
    """Trace a run for the length of the block, which appends its outcome to the list."""
    outcome: list[str] = []
    if not _is_listened_to():
        yield outcome
        return
    span = _begun(f"run {facts['tool']}", trace.SpanKind.CONSUMER, _named(facts), parent)
    # An exception is not recorded, because its message can quote arguments.
    with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
        yield outcome
        for word in outcome:
            span.set_attribute(OUTCOME, word)
            if word == FAILED:
                span.set_status(trace.StatusCode.ERROR)
                span.set_attribute(ERROR, word)


def know_task(task_id: str) -> None:
    """Add the task's id to the current span."""
    if _is_listened_to():
        trace.get_current_span().set_attribute(TASK, task_id)


def refused(code: int) -> None:
    """Record in the current span that the request failed with this JSON-RPC error."""
    if _is_listened_to():
        span = trace.get_current_span()
        span.set_attributes({CODE: str(code), ERROR: str(code)})
        span.set_status(trace.StatusCode.ERROR)


def carried() -> dict[str, str]:
    """Return the trace context of the current span; empty without one."""
    context: dict[str, str] = {}
    if _is_listened_to():
        propagate.inject(context)
    return context


def _is_listened_to() -> bool:
    """Return whether a tracer provider is configured."""
    return IS_INSTALLED and not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def _begun(
    name: str, kind: "trace.SpanKind", attributes: Mapping[str, str | int], parent: Mapping[str, str]
) -> "trace.Span":
    tracer = trace.get_tracer("coatcheck", VERSION)
    return tracer.start_span(name, propagate.extract(parent), kind, dict(attributes))


def _named(facts: Facts) -> dict[str, str | int]:
    """Return the log fields as attributes of a span."""
    names = {"tool": TOOL, "task_id": TASK, "run": RUN}
    return {names[fact]: value for fact, value in facts.items() if fact in names}
