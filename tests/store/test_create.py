"""A task comes into being: the record, its index entry, its time to live, and the idempotency key."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from redis import Redis

from coatcheck.tasks_store import (
    CallConflict,
    Patience,
    Remains,
    Status,
    StoreSettings,
    Task,
    TaskNotFound,
    TaskStore,
)
from coatcheck.tasks_store.keys import TaskKeys, call_key
from coatcheck.tasks_store.model import TASK_ID, new_task_id
from tests.store.stages import CONFIRM, ONE_DAY_MS, OWNER, STRANGER, YES, call, queued
from tests.support.leaks import leaked_keys


def test_a_new_task_is_working_and_reads_as_it_was_returned(store: TaskStore) -> None:
    """TASK-4"""
    task, is_new = store.create(call(ttl_ms=60_000, poll_interval_ms=250))
    assert is_new
    assert task == Task(
        task_id=task.task_id,
        tool="report",
        status=Status.WORKING,
        created_ms=task.created_ms,
        updated_ms=task.created_ms,
        ttl_ms=60_000,
        poll_interval_ms=250,
        message="Waiting for a worker",
    )
    assert store.get(OWNER, task.task_id) == task


def test_an_id_is_a_bucket_and_128_random_bits() -> None:
    """TASK-5"""
    ids = {new_task_id() for _ in range(1_000)}
    assert len(ids) == 1_000
    assert all(TASK_ID.fullmatch(task_id) for task_id in ids)
    assert {task_id[0] for task_id in ids} == set("01234567")


def test_the_record_outlives_its_expiry_by_an_hour_at_most(store: TaskStore, raw: Redis) -> None:
    """TASK-11"""
    new = call(ttl_ms=60_000, answers={"q": (CONFIRM.request, YES)}, idempotency_key="once")
    task, _ = store.create(new)
    k = TaskKeys.of(task.task_id)
    expires = task.created_ms + 60_000 + 3_600_000
    assert raw.pexpiretime(k.task) == expires
    assert raw.pexpiretime(k.inputs) == expires
    assert raw.pexpiretime(call_key(task.task_id, new.call)) == expires


def test_inputs_answered_beforehand_are_there_for_the_first_run(store: TaskStore) -> None:
    task_id = queued(store, answers={"q": (CONFIRM.request, YES)})
    claim = store.claim(task_id, "run-1")
    assert claim.inputs["q"].answer == YES  # type: ignore[union-attr]
    assert claim.inputs["q"].verdict == "accepted"  # type: ignore[union-attr]


def test_the_same_creation_sent_twice_makes_one_task(store: TaskStore, raw: Redis) -> None:
    task_id = new_task_id()
    first = store.create(call(), task_id)
    assert store.create(call(), task_id) == first
    names = {name.decode().split(":")[2] for name in raw.scan_iter()}
    assert names == {"task", "due", "owner", "tenant"}
    assert raw.dbsize() == 4


def test_an_idempotent_call_returns_the_first_task_as_it_stands(store: TaskStore) -> None:
    first, _ = store.create(call(arguments=b'{"a":1,"b":2}', idempotency_key="once"))
    store.claim(first.task_id, "run-1")
    store.finish(first.task_id, "run-1", Status.COMPLETED, result=b"{}")

    second, is_new = store.create(call(arguments=b'{"b": 2, "a": 1}', idempotency_key="once"))
    assert not is_new
    assert second == store.get(OWNER, first.task_id)
    assert second.status is Status.COMPLETED


@pytest.mark.parametrize("change", [{"tool": "other"}, {"arguments": b'{"size":2}'}], ids=["tool", "arguments"])
def test_a_key_used_for_another_call_is_a_conflict_that_names_the_task(
    store: TaskStore, change: dict[str, object]
) -> None:
    first = queued(store, idempotency_key="once")
    with pytest.raises(CallConflict) as conflict:
        store.create(call(idempotency_key="once", **change))
    assert conflict.value.task_id == first


def test_two_owners_may_use_the_same_key(store: TaskStore) -> None:
    first = queued(store, idempotency_key="once")
    second, is_new = store.create(call(owner=STRANGER, idempotency_key="once"))
    assert is_new
    assert second.task_id != first
    with pytest.raises(TaskNotFound):
        store.get(OWNER, second.task_id)


def test_a_purged_task_frees_its_key(store: TaskStore, raw: Redis) -> None:
    new = call(idempotency_key="once")
    first = store.create(new)[0].task_id
    store.cancel(OWNER, first)
    raw.hset(TaskKeys.of(first).task, "expires", "1000")
    store.maintenance.purge(first, Remains(OWNER, new.call))
    second, is_new = store.create(new)
    assert is_new
    assert second.task_id != first


def test_a_hundred_simultaneous_equal_calls_make_one_task(redis_url: str, raw: Redis) -> None:
    store = TaskStore(StoreSettings(redis_url=redis_url), Patience.WORKER)
    together = Barrier(100)

    def create() -> tuple[str, bool]:
        together.wait()
        task, is_new = store.create(call(idempotency_key="once"))
        return task.task_id, is_new

    with ThreadPoolExecutor(100) as threads:
        made = [future.result() for future in [threads.submit(create) for _ in range(100)]]
    store.close()
    assert len({task_id for task_id, _ in made}) == 1
    assert sum(is_new for _, is_new in made) == 1
    assert len(list(raw.scan_iter("coatcheck:*:task:*"))) == 1


def test_without_a_key_every_call_makes_its_own_task(store: TaskStore, raw: Redis) -> None:
    assert len({queued(store) for _ in range(50)}) == 50
    assert leaked_keys(raw) == []


def test_a_task_without_a_worker_is_due_when_its_message_should_be_sent_again(store: TaskStore, raw: Redis) -> None:
    """TASK-4"""
    task, _ = store.create(call(ttl_ms=ONE_DAY_MS))
    due = raw.zscore(TaskKeys.of(task.task_id).due, task.task_id)
    assert due == task.created_ms + store.settings.resend_ms
