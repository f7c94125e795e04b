"""Ways in which a tool's function ends that its author never thought of: each is a terminal status with a reason."""

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.e2e.ledger import Ledger
from tests.support.client import Client, Json
from tests.support.platform import Platform

RAISED = ("memory", "unpicklable", "plain objects", "sys.exit", "keyboard", "recursion", "stray")
NOT_JSON = ("set", "nan", "object", "progress of nothing", "numbered step", "surrogate step")
ODD_WORDS = ("surrogate", "wordy", "surrogate progress", "wordy progress")

CALLS: Mapping[str, tuple[str, dict[str, object]]] = {
    **{how: ("ends_badly", {"how": how}) for how in (*RAISED, *NOT_JSON, *ODD_WORDS, "bytes", "date", "os._exit")},
    "swallows_its_limit": ("swallows_its_limit", {}),
    "overruns": ("overruns", {}),
    "ignores_its_limit": ("ignores_its_limit", {}),
    "afterwards": ("quick", {}),
}


@pytest.fixture(scope="module")
def platform(bare_platform: Platform) -> Platform:
    """A platform with one worker of four processes."""
    bare_platform.start_worker(concurrency=4)
    return bare_platform


@pytest.fixture(scope="module")
def ended(platform: Platform) -> Mapping[str, Json]:
    """Each way to end, side by side, as its client sees it."""

    def end(call: tuple[str, dict[str, object]]) -> Json:
        with platform.client() as client:
            return client.wait_for(client.start(*call), timeout=60.0)

    with ThreadPoolExecutor(len(CALLS)) as threads:
        return dict(zip(CALLS, threads.map(end, CALLS.values()), strict=True))


@pytest.mark.parametrize("how", RAISED)
def test_whatever_is_raised_is_told_as_a_failed_tool(ended: Mapping[str, Json], how: str) -> None:
    """C6, C23: an error that cannot cross to another process, or ends a process, is an error like any other."""
    task = ended[how]
    assert (task["status"], task["result"]["isError"]) == ("completed", True)
    assert "Reference" in task["result"]["content"][0]["text"]


@pytest.mark.parametrize("how", NOT_JSON)
def test_a_value_that_is_not_json_is_told_as_the_tools_fault(ended: Mapping[str, Json], how: str) -> None:
    """C23; a later run would not find a step by such a key, and repeat it."""
    task = ended[how]
    assert (task["status"], task["result"]["isError"]) == ("completed", True)
    assert "cannot be sent" in task["result"]["content"][0]["text"]


@pytest.mark.parametrize(("how", "text"), [("date", "2026-01-02T00:00:00+00:00"), ("bytes", "/w==")])
def test_dates_and_bytes_have_a_form_in_json(ended: Mapping[str, Json], how: str, text: str) -> None:
    """C23"""
    assert ended[how]["result"]["content"] == [{"type": "text", "text": text}]


def test_a_tool_that_ends_its_process_is_run_again_and_then_failed(ended: Mapping[str, Json], ledger: Ledger) -> None:
    """C4"""
    task = ended["os._exit"]
    assert (task["status"], task["error"]["code"]) == ("failed", -32603)
    assert "worker was lost" in task["statusMessage"]
    assert [run for _, run in ledger.entries(task["taskId"])] == [1, 2, 3]


def test_a_tool_that_swallows_its_time_limit_may_still_return_in_time(ended: Mapping[str, Json]) -> None:
    """C11: one ending, the one that came first."""
    task = ended["swallows_its_limit"]
    assert (task["status"], task["result"]["content"][0]["text"]) == ("completed", "late")


@pytest.mark.parametrize("how", ["overruns", "ignores_its_limit"])
def test_a_tool_that_exceeds_its_time_limit_is_failed_and_not_run_again(
    ended: Mapping[str, Json], ledger: Ledger, how: str
) -> None:
    """C11"""
    task = ended[how]
    assert task["status"] == "failed"
    assert task["error"] == {"code": -32603, "message": "The tool ran longer than its time limit"}
    assert task["statusMessage"] == "The tool ran longer than its time limit"
    assert [run for _, run in ledger.entries(task["taskId"])] in ([], [1])


def test_the_worker_goes_on_after_all_of_them(ended: Mapping[str, Json], client: Client, platform: Platform) -> None:
    """C6"""
    assert ended["afterwards"]["status"] == "completed"
    tasks = [client.start("quick") for _ in range(20)]
    assert {client.wait_for(task_id)["status"] for task_id in tasks} == {"completed"}
    (worker,) = platform.workers
    assert worker.is_running
    assert "CRITICAL" not in worker.log


@pytest.mark.parametrize(("how", "said"), [("surrogate", r"x \ud800"), ("wordy", "x" * 10_000)])
def test_odd_words_of_a_protocol_error_fail_the_task_once_and_within_bounds(
    ended: Mapping[str, Json], ledger: Ledger, how: str, said: str
) -> None:
    """K4.3, K4.4"""
    task = ended[how]
    assert (task["status"], task["error"]["code"]) == ("failed", -32000)
    assert task["error"]["message"] == task["statusMessage"]
    assert task["statusMessage"].startswith(said)
    assert len(json.dumps(task)) < 30_000
    assert [run for _, run in ledger.entries(task["taskId"])] == [1]


@pytest.mark.parametrize("how", ["surrogate progress", "wordy progress"])
def test_odd_words_of_progress_cost_no_run(ended: Mapping[str, Json], ledger: Ledger, how: str) -> None:
    """K4.3, K4.4"""
    task = ended[how]
    assert (task["status"], task["result"]["isError"]) == ("completed", False)
    assert [run for _, run in ledger.entries(task["taskId"])] == [1]
