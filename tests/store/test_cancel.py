"""A cancel takes hold in every phase of a task, and never of one that has ended."""

from collections.abc import Callable

import pytest
from redis import Redis

from coatcheck.tasks_store import Cancellation, NextRun, Outcome, Refusal, Status, TaskStore
from coatcheck.tasks_store.keys import TaskKeys
from tests.store.stages import OWNER, TERMINAL, YES, cancelling, field, parked, past, queued, resumed, running, snapshot


@pytest.mark.parametrize(("stage", "number"), [(queued, 1), (parked, 2), (resumed, 2)])
def test_what_nobody_runs_is_cancelled_at_once_and_never_starts(
    store: TaskStore, stage: Callable[[TaskStore], str], number: int
) -> None:
    """TASK-9"""
    task_id = stage(store)
    assert store.cancel(OWNER, task_id) == Cancellation(Outcome.DONE, NextRun(task_id, "report", number))
    task = store.get(OWNER, task_id)
    assert (task.status, task.message, task.input_requests) == (Status.CANCELLED, "Cancelled", {})
    assert store.claim(task_id, "run-9") is Refusal.TERMINAL
    assert store.answer(OWNER, task_id, {"confirm": YES}).resumes is None


def test_a_running_job_is_asked_to_end_and_works_until_it_does(store: TaskStore) -> None:
    """TASK-9"""
    task_id = running(store)
    assert store.cancel(OWNER, task_id) == Cancellation(Outcome.REQUESTED, NextRun(task_id, "report", 1))
    task = store.get(OWNER, task_id)
    assert (task.status, task.message) == (Status.WORKING, "Cancelling")
    assert store.renew(task_id, "run-1") is True
    assert store.finish(task_id, "run-1", Status.CANCELLED) is Status.CANCELLED


def test_a_second_cancel_does_not_prolong_the_grace(store: TaskStore, raw: Redis) -> None:
    task_id = cancelling(store)
    before = snapshot(raw)
    assert store.cancel(OWNER, task_id).outcome is Outcome.REQUESTED
    assert snapshot(raw) == before


def test_renewing_does_not_put_off_the_end_of_the_grace(store: TaskStore, raw: Redis) -> None:
    task_id = cancelling(store)
    deadline = int(field(raw, task_id, "cancel_at") or 0)
    past(raw, task_id)
    raw.hset(TaskKeys.of(task_id).task, "cancel_at", "2000")
    store.renew(task_id, "run-1")
    assert deadline > 2000
    assert store.maintenance.due(int(task_id[0]), 10) == [task_id]


@pytest.mark.parametrize("field_name", ["cancel_at", "lease"])
def test_a_run_that_ignores_its_cancel_or_dies_of_it_is_fenced_off_even_after_an_outage(
    store: TaskStore, raw: Redis, field_name: str
) -> None:
    task_id = cancelling(store)
    past(raw, task_id, field_name)
    assert store.maintenance.recover(task_id, held=True) is None
    assert store.get(OWNER, task_id).status is Status.CANCELLED


def test_a_run_within_its_grace_is_left_alone(store: TaskStore, raw: Redis) -> None:
    task_id = cancelling(store)
    before = snapshot(raw)
    assert store.maintenance.recover(task_id, held=False) is None
    assert snapshot(raw) == before


@pytest.mark.parametrize("stage", TERMINAL.values(), ids=TERMINAL)
def test_a_cancel_of_an_ended_task_changes_nothing(
    store: TaskStore, raw: Redis, stage: Callable[[TaskStore], str]
) -> None:
    """TASK-9"""
    task_id = stage(store)
    before = snapshot(raw)
    assert store.cancel(OWNER, task_id) == Cancellation(Outcome.TOO_LATE)
    assert snapshot(raw) == before
