"""A handle outlives every process that had to do with it."""

from collections.abc import Iterator

import pytest

from tests.e2e.ledger import LEDGER, Ledger
from tests.support.client import Client
from tests.support.platform import Platform

ADA = {"name": {"action": "accept", "content": {"name": "Ada"}}}
HELLO_ADA = [{"type": "text", "text": "Hello, Ada!"}]


@pytest.fixture(scope="module")
def mortal(ledger: Ledger) -> Iterator[Platform]:
    """A platform whose processes are killed; each test leaves it running."""
    env = {LEDGER: str(ledger.path), "WEB_CONCURRENCY": "2"}
    with Platform(env=env) as platform:
        yield platform.start()


@pytest.fixture
def caller(mortal: Platform) -> Iterator[Client]:
    """A client of that platform."""
    with mortal.client() as caller:
        yield caller


def kill_web(platform: Platform) -> None:
    """Every web process was killed; others answer."""
    (web,) = platform.webs
    web.kill()
    web.start()
    platform.wait_until_ready(needs_worker=False)


def kill_redis(platform: Platform) -> None:
    """The store, which is the broker too, was killed and has read its file."""
    platform.valkey.kill()
    platform.valkey.start()


def test_a_parked_task_completes_after_everything_was_killed(mortal: Platform, caller: Client, ledger: Ledger) -> None:
    """TASK-4, C106"""
    task_id = caller.start("ask_one")
    kill_web(mortal)
    parked = caller.wait_for(task_id, "input_required")
    (worker,) = mortal.workers
    worker.kill()
    kill_redis(mortal)
    assert caller.get(task_id).result == parked

    caller.update(task_id, ADA)
    mortal.begin(worker)
    assert caller.wait_for(task_id)["result"]["content"] == HELLO_ADA
    assert ledger.entries(task_id) == [("before", 1), ("after", 2)]


def test_a_queued_task_runs_once_after_everything_was_killed(mortal: Platform, caller: Client, ledger: Ledger) -> None:
    """TASK-4"""
    (worker,) = mortal.workers
    worker.kill()
    task_id = caller.start("quick", {"text": "still here"})
    mortal.webs[0].kill()
    kill_redis(mortal)
    kill_web(mortal)
    assert caller.get(task_id).result["status"] == "working"

    mortal.begin(worker)
    assert caller.wait_for(task_id)["result"]["content"] == [{"type": "text", "text": "still here"}]
    assert ledger.entries(task_id) == [("ran", 1)]


def test_an_acknowledged_answer_is_kept_when_everything_is_killed(
    mortal: Platform, caller: Client, ledger: Ledger
) -> None:
    """TASK-8"""
    task_id = caller.start("ask_one")
    caller.wait_for(task_id, "input_required")
    (worker,) = mortal.workers
    worker.kill()
    caller.update(task_id, ADA)
    mortal.webs[0].kill()
    kill_redis(mortal)
    kill_web(mortal)
    assert caller.get(task_id).result["status"] == "working"

    mortal.begin(worker)
    assert caller.wait_for(task_id)["result"]["content"] == HELLO_ADA
    assert ledger.entries(task_id) == [("before", 1), ("after", 2)]
