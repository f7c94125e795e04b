"""A parked job goes on: once, from where it was, whatever happened in between."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from redis import Redis

from tests.e2e.ledger import Ledger
from tests.recovery.tools import GO_ON
from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.waiting import wait_until

PARKED = 50
"""How many tasks are parked at once; `tests/e2e/test_many_parked.py` measures more."""


@pytest.fixture(scope="module")
def platform(bare_platform: Platform) -> Platform:
    """A platform with one worker of one process, which a parked task must not hold."""
    bare_platform.start_worker(concurrency=1)
    return bare_platform


@pytest.fixture
def raw(platform: Platform) -> Iterator[Redis]:
    """A plain client of the platform's store."""
    with platform.valkey.client() as raw:
        yield raw


def test_a_parked_task_holds_no_worker_and_goes_no_further(client: Client, ledger: Ledger) -> None:
    """C109"""
    parked = client.start("fragile", {"fault": ""})
    client.wait_for(parked, "input_required")
    assert client.wait_for(client.start("quick"))["status"] == "completed"
    assert [what for what, _ in ledger.entries(parked)] == ["first begun", "first ended"]
    client.update(parked, {"go": GO_ON})
    assert client.wait_for(parked)["result"]["structuredContent"] == ["first", "second"]


def test_many_parked_tasks_leave_no_message_and_stand_in_nobodys_way(client: Client, raw: Redis) -> None:
    """C3"""
    parked = [client.start("fragile", {"fault": ""}) for _ in range(PARKED)]
    for task_id in parked:
        client.wait_for(task_id, "input_required")
    wait_until(lambda: not any(raw.type(name) == b"list" for name in raw.scan_iter("*")), 20.0, "the end of all queues")
    ordinary = [client.start("quick") for _ in range(20)]
    assert {client.wait_for(task_id)["status"] for task_id in ordinary} == {"completed"}
    for task_id in parked:
        client.cancel(task_id)
    assert {client.get(task_id).result["status"] for task_id in parked} == {"cancelled"}


def test_answers_that_come_at_the_same_moment_resume_the_job_once(client: Client, ledger: Ledger) -> None:
    """C10"""
    tasks = [client.start("ask_twice") for _ in range(10)]
    for task_id in tasks:
        client.wait_for(task_id, "input_required")
    answers = [(task_id, key) for task_id in tasks for key in ("one", "two") for _ in range(2)]
    with ThreadPoolExecutor(len(answers)) as threads:
        replies = threads.map(lambda answer: client.update(answer[0], {answer[1]: GO_ON}), answers)
        assert {reply.status for reply in replies} == {200}
    for task_id in tasks:
        assert client.wait_for(task_id)["status"] == "completed"
        assert ledger.entries(task_id) == [("after", 2)]


def test_an_answer_that_the_author_refuses_is_asked_for_again(client: Client, ledger: Ledger) -> None:
    """C10: the verdicts come from the header of the chord, and the body judges nothing twice."""
    task_id = client.start("ask_twice")
    client.wait_for(task_id, "input_required")
    unsure = {"action": "accept", "content": {"sure": False}}
    client.update(task_id, {"one": unsure, "two": GO_ON})
    again = client.wait_for(task_id, "input_required")
    assert list(again["inputRequests"]) == ["one#2"]
    client.update(task_id, {"one#2": GO_ON})
    assert client.wait_for(task_id)["status"] == "completed"
    assert ledger.entries(task_id) == [("after", 3)]


def test_a_resume_does_not_depend_on_what_celery_keeps(client: Client, platform: Platform, raw: Redis) -> None:
    """C13: everything of Celery's, counters and results, is gone in the middle of the resume."""
    (worker,) = platform.workers
    task_id = client.start("ask_twice")
    client.wait_for(task_id, "input_required")
    worker.stop()
    client.update(task_id, {"one": GO_ON, "two": GO_ON})
    celerys = list(raw.scan_iter("coatcheck:celery:*"))
    assert celerys
    raw.delete(*celerys)
    platform.begin(worker)
    assert client.wait_for(task_id)["status"] == "completed"


def test_code_before_an_input_does_not_run_again_and_a_kill_repeats_no_kept_step(
    client: Client, ledger: Ledger
) -> None:
    """C106"""
    task_id = client.start("three_effects")
    client.wait_for(task_id, "input_required")
    client.update(task_id, {"q1": GO_ON})
    wait_until(lambda: "q2" in client.get(task_id).result.get("inputRequests", {}), 20.0, "the second input")
    client.update(task_id, {"q2": GO_ON})
    assert client.wait_for(task_id)["status"] == "completed"
    effects = [what for what, _ in ledger.entries(task_id) if what.endswith("begun")]
    assert effects == ["A begun", "B begun", "C begun"]
    assert ledger.count(task_id, "died") == 1


def test_the_time_of_a_person_does_not_count_against_the_jobs_own(client: Client, ledger: Ledger) -> None:
    """C108: one second for each run, more than that for the answer."""
    task_id = client.start("patient")
    client.wait_for(task_id, "input_required")
    rested = client.start("sleep", {"seconds": 1.2})
    assert client.wait_for(rested)["status"] == "completed"
    client.update(task_id, {"go": GO_ON})
    assert client.wait_for(task_id)["result"]["content"] == [{"type": "text", "text": "done"}]
    assert ledger.count(task_id, "before") == 2


def test_an_answer_after_a_deployment_without_the_tool_fails_the_task(client: Client, platform: Platform) -> None:
    """C111: a message that the worker does not know is not thrown away silently."""
    task_id = client.start("fragile", {"fault": ""})
    client.wait_for(task_id, "input_required")
    (worker,) = platform.workers
    worker.kill()
    without = platform.start_worker(env={"COATCHECK_TOOLS": "tests.e2e.tools"})
    client.update(task_id, {"go": GO_ON})
    task = client.wait_for(task_id)
    assert (task["status"], task["error"]["code"]) == ("failed", -32603)
    assert task["statusMessage"] == "This deployment no longer offers the tool fragile"
    without.kill()
    platform.workers.remove(without)
    platform.begin(worker)


def test_an_answer_is_judged_by_what_was_asked_when_it_was_asked(client: Client, platform: Platform) -> None:
    """C111: the new version of the tool asks for more; the old question stands until it is answered."""
    task_id = client.start("ask_one")
    client.wait_for(task_id, "input_required")
    (worker,) = platform.workers
    worker.kill()
    newer = platform.start_worker(env={"COATCHECK_TOOLS": "tests.recovery.newer_tools"})
    assert client.update(task_id, {"name": {"action": "accept", "content": {"age": 7}}}).status == 400
    client.update(task_id, {"name": {"action": "accept", "content": {"name": "Ada"}}})
    assert client.wait_for(task_id)["result"]["content"] == [{"type": "text", "text": "Hello, Ada, of unknown age!"}]
    newer.kill()
    platform.workers.remove(newer)
    platform.begin(worker)
