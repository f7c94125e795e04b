"""Tasks whose work is with another application's worker."""

import pytest
from redis import Redis

from coatcheck.tasks_store import Patience, Status, StoreSettings, TaskError, TaskStore
from coatcheck.tasks_store.keys import TaskKeys
from tests.store.stages import OWNER, delegated, field, look_due, past, running


def look_is_due(raw: Redis, task_id: str) -> bool:
    """The task is to be looked at now."""
    score = raw.zscore(TaskKeys.of(task_id).watched, task_id)
    return score is not None and score <= raw.time()[0] * 1000 + 1_000


def test_a_delegated_task_is_working_and_no_run_can_claim_it(store: TaskStore, raw: Redis) -> None:
    task_id = delegated(store, raw)
    task = store.get(OWNER, task_id)
    assert (task.status, task.message) == (Status.WORKING, "Handed over")
    assert store.claim(task_id, "run-2") == "delegated"


def test_one_watcher_looks_at_a_time_and_another_when_it_does_not_come_back(store: TaskStore, raw: Redis) -> None:
    task_id = delegated(store, raw)
    assert store.delegations.due(10) == [task_id]
    assert store.delegations.look(task_id, 60_000) is not None
    assert store.delegations.look(task_id, 60_000) is None
    assert store.delegations.due(10) == []
    look_due(raw, task_id)
    assert store.delegations.look(task_id, 60_000) is not None


def test_what_one_look_leaves_the_next_one_finds(store: TaskStore, raw: Redis) -> None:
    task_id = delegated(store, raw)
    store.delegations.note(task_id, "Row 3", b'{"seen":1}', 60_000)
    assert store.get(OWNER, task_id).message == "Row 3"
    look_due(raw, task_id)
    look = store.delegations.look(task_id, 60_000)
    assert look is not None
    assert (look.tool, look.note, look.is_cancelled, look.has_ended) == ("report", b'{"seen":1}', False, False)


def test_the_ending_of_the_work_is_that_of_the_task(store: TaskStore, raw: Redis) -> None:
    task_id = delegated(store, raw)
    assert (
        store.delegations.settle(task_id, Status.COMPLETED, message="Completed", result=b'{"x":1}') is Status.COMPLETED
    )
    assert store.get(OWNER, task_id).result == b'{"x":1}'
    assert store.delegations.settle(task_id, Status.FAILED, error=TaskError(-1, "late")) is None
    assert not raw.exists(TaskKeys.of(task_id).watched)
    assert field(raw, task_id, "note") is None


def test_a_cancel_is_heard_by_the_next_look_at_once_and_wins_over_a_result(store: TaskStore, raw: Redis) -> None:
    task_id = delegated(store, raw)
    store.delegations.look(task_id, 60_000)
    cancellation = store.cancel(OWNER, task_id)
    assert (cancellation.outcome, cancellation.run) == ("requested", None)
    assert look_is_due(raw, task_id)
    look = store.delegations.look(task_id, 60_000)
    assert look is not None
    assert look.is_cancelled
    store.delegations.note(task_id, "Row 4", b"{}", 60_000)
    assert store.get(OWNER, task_id).message == "Cancelling"
    assert store.delegations.settle(task_id, Status.COMPLETED, result=b"{}") is Status.CANCELLED
    assert store.get(OWNER, task_id).status is Status.CANCELLED


@pytest.mark.parametrize("end", ["cancel", "expire"])
def test_a_task_that_ends_before_its_work_is_looked_at_once_more(store: TaskStore, raw: Redis, end: str) -> None:
    task_id = delegated(store, raw)
    if end == "cancel":
        store.cancel(OWNER, task_id)
        past(raw, task_id, "cancel_at")
        store.maintenance.recover(task_id, held=False)
    else:
        past(raw, task_id, "expires")
        store.maintenance.expire(task_id)
    look_due(raw, task_id)
    look = store.delegations.look(task_id, 60_000)
    assert look is not None
    assert (look.tool, look.has_ended) == ("report", True)
    assert store.delegations.due(10) == []


def test_the_index_lives_as_long_as_the_longest_of_its_tasks(store: TaskStore, raw: Redis) -> None:
    ids = [delegated(store, raw, ttl_ms=ttl_ms) for ttl_ms in (90_000_000, 1_000) for _ in range(30)]
    for task_id in ids:
        left = raw.pttl(TaskKeys.of(task_id).watched)
        assert left >= raw.pttl(TaskKeys.of(task_id).task) - 1_000


def test_a_result_is_sealed_as_any_other(redis_url: str, raw: Redis) -> None:
    store = TaskStore(StoreSettings(redis_url=redis_url, encryption_keys=(b"k" * 32,)), Patience.DOOR)
    task_id = delegated(store, raw)
    store.delegations.settle(task_id, Status.COMPLETED, result=b"a secret")
    assert b"a secret" not in (field(raw, task_id, "result") or b"")
    assert store.get(OWNER, task_id).result == b"a secret"
    store.close()


def test_a_revoked_message_cancels_its_own_run_and_no_other(store: TaskStore) -> None:
    task_id = running(store)
    assert store.revoke(task_id, 2) is False
    assert store.get(OWNER, task_id).status is Status.WORKING
    assert store.revoke(task_id, 1) is True
    assert store.get(OWNER, task_id).status is Status.CANCELLED
