"""RPC-7: the trace of a call goes through the front door and every run, over real processes; without it, nothing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.client import Client
from tests.support.platform import ROOT, Platform
from tests.support.waiting import wait_until
from tests.traces.tools import SPANS

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CALLED = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": "vendor=1"}

Span = dict[str, Any]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all processes write their spans."""
    return tmp_path_factory.mktemp("spans") / "spans.jsonl"


@pytest.fixture(scope="module")
def platform(file: Path) -> Iterator[Platform]:
    """A platform whose tool module configures OpenTelemetry."""
    with Platform(tools="tests.traces.tools", env={SPANS: str(file)}) as platform:
        yield platform.start()


@pytest.fixture
def client(platform: Platform) -> Iterator[Client]:
    """A client of the platform."""
    with platform.client() as client:
        yield client


def spans(file: Path) -> list[Span]:
    """All spans that have ended."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def ended(file: Path, name: str, task_id: str, number: int = 1) -> list[Span]:
    """The spans of this name and task, once there are so many."""

    def found() -> list[Span]:
        every = [one for one in spans(file) if one["name"] == name]
        return [one for one in every if one["attributes"].get("coatcheck.task.id") == task_id]

    wait_until(lambda: len(found()) >= number, what=f"{number} spans {name!r}, of {spans(file)}")
    return found()


def place(span: Span) -> tuple[str, str | None]:
    """The ids of a span's trace and of its parent."""
    parent = span["parent_id"]
    return span["context"]["trace_id"].removeprefix("0x"), parent and parent.removeprefix("0x")


def span_id(span: Span) -> str:
    """The id by which a span's children name it."""
    return str(span["context"]["span_id"]).removeprefix("0x")


def test_request_and_runs_are_children_of_the_callers_span(client: Client, file: Path) -> None:
    task_id = client.start("ask", meta=CALLED)
    client.wait_for(task_id, "input_required")
    client.update(task_id, {"name": {"action": "decline"}})
    client.wait_for(task_id)
    (request,) = ended(file, "tools/call ask", task_id)
    first, second = ended(file, "run ask", task_id, 2)
    assert request["kind"] == "SpanKind.SERVER"
    assert request["attributes"] == {
        "mcp.method.name": "tools/call",
        "gen_ai.tool.name": "ask",
        "coatcheck.task.id": task_id,
    }
    assert {first["kind"], second["kind"]} == {"SpanKind.CONSUMER"}
    assert [one["attributes"]["coatcheck.run.number"] for one in (first, second)] == [1, 2]
    assert [one["attributes"]["coatcheck.run.outcome"] for one in (first, second)] == ["parked", "completed"]
    assert [place(one) for one in (request, first, second)] == [(TRACE, PARENT)] * 3
    parents = {place(one) for one in spans(file) if one["name"] == "the author's own"}
    assert {(TRACE, span_id(first)), (TRACE, span_id(second))} <= parents


def test_a_job_of_a_caller_without_a_trace_is_a_part_of_its_requests(client: Client, file: Path) -> None:
    task_id = client.start("ask")
    client.wait_for(task_id, "input_required")
    (request,) = ended(file, "tools/call ask", task_id)
    (run,) = ended(file, "run ask", task_id)
    assert place(request)[1] is None
    assert place(run) == (place(request)[0], span_id(request))
    client.cancel(task_id)


def test_a_call_that_waits_ends_its_span_with_its_answer(client: Client, file: Path) -> None:
    client.call("awaited", meta={**CALLED, "progressToken": "token"})
    client.call("awaited", meta=CALLED)
    wait_until(lambda: len([one for one in spans(file) if one["name"] == "run awaited"]) == 2, what="the runs")
    requests = [one for one in spans(file) if one["name"] == "tools/call awaited"]
    runs = [one for one in spans(file) if one["name"] == "run awaited"]
    assert [place(one) for one in (*requests, *runs)] == [(TRACE, PARENT)] * 4
    for request, run in zip(requests, runs, strict=True):
        assert request["attributes"]["coatcheck.task.id"] == run["attributes"]["coatcheck.task.id"]
        assert request["start_time"] < run["start_time"] < request["end_time"]


def test_an_error_is_the_status_of_its_span_without_its_words(client: Client, file: Path) -> None:
    task_id = client.start("refuse")
    client.wait_for(task_id)
    (run,) = ended(file, "run refuse", task_id)
    assert run["status"]["status_code"] == "ERROR"
    unknown = "0" * 33
    client.get(unknown)
    (request,) = ended(file, "tasks/get", unknown)
    assert request["status"] == {"status_code": "ERROR"}
    assert request["attributes"]["rpc.response.status_code"] == "-32602"


def test_a_trace_context_that_means_nothing_begins_a_trace_of_its_own(client: Client, file: Path) -> None:
    task_id = client.start("trace_of", meta={"traceparent": "nonsense"})
    client.wait_for(task_id)
    (request,) = ended(file, "tools/call trace_of", task_id)
    assert place(request)[1] is None


def test_where_nothing_is_configured_the_job_is_told_what_the_call_said() -> None:
    with Platform(tools="tests.traces.tools").start() as platform, platform.client() as client:
        for said in (CALLED, {}):
            task = client.wait_for(client.start("trace_of", meta=said))
            assert task["result"]["structuredContent"] == said


def test_where_it_is_not_installed_nothing_changes(tmp_path: Path) -> None:
    missing = tmp_path / "opentelemetry"
    missing.mkdir()
    (missing / "__init__.py").write_text("raise ModuleNotFoundError('opentelemetry is not installed')\n")
    env = {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    with Platform(tools="tests.auth.tools", env=env).start() as platform, platform.client() as client:
        task_id = client.start("confirm", {"what": "this"}, meta=CALLED)
        client.wait_for(task_id, "input_required")
        client.update(task_id, {"sure": {"action": "accept", "content": {"yes": True}}})
        assert client.wait_for(task_id)["status"] == "completed"
