"""What the clock does to a task: leases die, messages are sent again, time runs out, and in the end nothing is left."""

from collections.abc import Callable

import pytest
from redis import Redis

from coatcheck.tasks_store import (
    Asked,
    DueKind,
    NextRun,
    Patience,
    Refusal,
    Remains,
    Status,
    StoreSettings,
    TaskError,
    TaskNotFound,
    TaskStore,
)
from coatcheck.tasks_store.keys import TaskKeys
from coatcheck.tasks_store.maintenance import RESEND_MOST_MS
from tests.store.stages import (
    CONFIRM,
    OWNER,
    TERMINAL,
    call,
    completed,
    field,
    parked,
    past,
    past_limit,
    queued,
    resumed,
    running,
    snapshot,
)

INTERNAL_ERROR = -32603


def test_a_bucket_lists_what_is_due_with_the_longest_due_first(store: TaskStore, raw: Redis) -> None:
    index = TaskKeys.of("0" * 33).due
    raw.zadd(index, {"second": 2000, "first": 1000, "third": 3000, "later": 9e12})
    assert store.maintenance.due(0, 2) == ["first", "second"]
    assert store.maintenance.due(0, 10) == ["first", "second", "third"]
    assert store.maintenance.due(1, 10) == []
    raw.delete(index)


def test_the_clock_calls_for_the_one_transition_that_is_due(store: TaskStore, raw: Redis) -> None:
    limited = parked(store, [Asked("limited", b"{}", "", 60_000)])
    ended = completed(store)
    cases = [
        (queued(store), "resend", DueKind.RESEND),
        (resumed(store), "resend", DueKind.RESEND),
        (running(store), "lease", DueKind.RECOVER),
        (limited, "limit", DueKind.LAPSE),
        (ended, "expires", DueKind.PURGE),
        *((stage(store), "expires", DueKind.EXPIRE) for stage in (queued, running, parked, resumed)),
    ]
    for task_id, field_name, kind in cases:
        assert store.maintenance.inspect(task_id) == (DueKind.NOTHING, None)
        past(raw, task_id, field_name)
        assert store.maintenance.inspect(task_id) == (kind, Remains(OWNER) if kind is DueKind.PURGE else None)


def test_an_index_entry_without_a_record_is_dropped(store: TaskStore, raw: Redis) -> None:
    task_id = "3" + "0" * 32
    raw.zadd(TaskKeys.of(task_id).due, {task_id: 1000})
    assert store.maintenance.inspect(task_id) == (DueKind.NOTHING, None)
    assert raw.dbsize() == 0


@pytest.mark.parametrize("stage", [queued, running, parked, resumed, *TERMINAL.values()])
def test_an_index_entry_that_is_early_is_corrected(
    store: TaskStore, raw: Redis, stage: Callable[[TaskStore], str]
) -> None:
    task_id = stage(store)
    before = snapshot(raw)
    past(raw, task_id)
    assert store.maintenance.inspect(task_id) == (DueKind.NOTHING, None)
    assert snapshot(raw) == before


def test_the_call_of_an_idempotent_task_is_told_to_whoever_purges_it(store: TaskStore, raw: Redis) -> None:
    new = call(idempotency_key="once")
    task_id = store.create(new)[0].task_id
    store.cancel(OWNER, task_id)
    past(raw, task_id, "expires")
    assert store.maintenance.inspect(task_id) == (DueKind.PURGE, Remains(OWNER, new.call))
    store.maintenance.purge(task_id, Remains(OWNER, new.call))
    assert raw.dbsize() == 0


# Dead leases.


def test_a_lost_run_is_followed_by_the_next(store: TaskStore, raw: Redis) -> None:
    task_id = running(store)
    past(raw, task_id, "lease")
    assert store.maintenance.recover(task_id, held=False) == NextRun(task_id, "report", 2)
    assert store.get(OWNER, task_id).status is Status.WORKING
    assert store.maintenance.recover(task_id, held=False) is None
    assert store.claim(task_id, "run-2").run_number == 2  # type: ignore[union-attr]


def test_a_job_that_costs_worker_after_worker_is_failed(store: TaskStore, raw: Redis) -> None:
    task_id = queued(store, max_runs=3)
    for number in (1, 2, 3):
        store.claim(task_id, f"run-{number}")
        past(raw, task_id, "lease")
        following = store.maintenance.recover(task_id, held=False)
        assert following == (NextRun(task_id, "report", number + 1) if number < 3 else None)
    task = store.get(OWNER, task_id)
    why = "The worker was lost 3 times while it ran this task"
    assert (task.status, task.message, task.error) == (Status.FAILED, why, TaskError(INTERNAL_ERROR, why))
    assert store.claim(task_id, "run-4") is Refusal.TERMINAL


def test_runs_that_ended_in_a_park_are_not_counted_as_lost(store: TaskStore, raw: Redis) -> None:
    task_id = queued(store, max_runs=2)
    for round_number in range(4):
        store.claim(task_id, f"lost-{round_number}")
        past(raw, task_id, "lease")
        assert store.maintenance.recover(task_id, held=False)
        store.claim(task_id, f"run-{round_number}")
        store.park(task_id, f"run-{round_number}", [Asked(f"key-{round_number}", b"{}")])
        store.answer(OWNER, task_id, {f"key-{round_number}": b"{}"})
    assert store.get(OWNER, task_id).status is Status.WORKING


def test_a_live_lease_is_not_recovered(store: TaskStore, raw: Redis) -> None:
    task_id = running(store)
    before = snapshot(raw)
    assert store.maintenance.recover(task_id, held=False) is None
    assert snapshot(raw) == before


def test_after_an_outage_a_dead_lease_is_held_and_can_be_renewed(store: TaskStore, raw: Redis) -> None:
    task_id = running(store)
    past(raw, task_id, "lease")
    before = snapshot(raw)
    assert store.maintenance.recover(task_id, held=True) is None
    assert snapshot(raw) == before
    assert store.renew(task_id, "run-1") is False
    assert store.maintenance.recover(task_id, held=False) is None
    assert store.finish(task_id, "run-1", Status.COMPLETED, result=b"{}") is Status.COMPLETED


# Messages that led to no run.


def test_a_message_is_sent_again_after_ever_longer_pauses_with_the_same_id(store: TaskStore, raw: Redis) -> None:
    task_id = queued(store)
    pauses = []
    for _ in range(10):
        past(raw, task_id, "resend")
        following = store.maintenance.resend(task_id)
        assert following == NextRun(task_id, "report", 1)
        assert following.message_id == f"{task_id}.1"
        seconds, microseconds = raw.time()
        pauses.append(int(field(raw, task_id, "resend") or 0) - (seconds * 1000 + microseconds // 1000))
        assert store.maintenance.resend(task_id) is None
    expected = [min(store.settings.resend_ms * 2**sends, RESEND_MOST_MS) for sends in range(1, 11)]
    assert pauses == [pytest.approx(pause, abs=1_000) for pause in expected]


def test_a_run_begins_the_pauses_anew(store: TaskStore, raw: Redis) -> None:
    task_id = queued(store)
    past(raw, task_id, "resend")
    store.maintenance.resend(task_id)
    store.claim(task_id, "run-1")
    store.release(task_id, "run-1")
    assert field(raw, task_id, "sends") is None


@pytest.mark.parametrize("stage", [running, parked, *TERMINAL.values()])
def test_the_message_of_a_task_that_waits_for_none_is_not_sent_again(
    store: TaskStore, raw: Redis, stage: Callable[[TaskStore], str]
) -> None:
    task_id = stage(store)
    before = snapshot(raw)
    assert store.maintenance.resend(task_id) is None
    assert snapshot(raw) == before


# The time to live.


@pytest.mark.parametrize("stage", [queued, running, parked, resumed])
def test_a_task_past_its_time_to_live_is_failed_and_its_owner_can_read_why(
    store: TaskStore, raw: Redis, stage: Callable[[TaskStore], str]
) -> None:
    """TASK-11"""
    task_id = stage(store)
    store.maintenance.expire(task_id)
    assert not store.get(OWNER, task_id).status.is_terminal
    past(raw, task_id, "expires")
    store.maintenance.expire(task_id)
    task = store.get(OWNER, task_id)
    assert task.status is Status.FAILED
    assert task.error == TaskError(INTERNAL_ERROR, task.message)
    assert "time to live" in task.message
    assert task.ttl_ms == int(field(raw, task_id, "expires") or 0) - task.created_ms


def test_a_result_stays_readable_for_the_keep_time_at_least_and_the_time_to_live_says_so(
    store: TaskStore, raw: Redis
) -> None:
    task_id = running(store, ttl_ms=5_000)
    store.finish(task_id, "run-1", Status.COMPLETED, result=b"{}")
    task = store.get(OWNER, task_id)
    expires = task.updated_ms + store.settings.keep_ms
    assert task.ttl_ms == expires - task.created_ms
    assert raw.zscore(TaskKeys.of(task_id).due, task_id) == expires
    assert raw.pexpiretime(TaskKeys.of(task_id).task) == expires + 3_600_000


def test_a_long_time_to_live_is_not_changed_by_the_end(store: TaskStore) -> None:
    task_id = completed(store, ttl_ms=86_400_000)
    assert store.get(OWNER, task_id).ttl_ms == 86_400_000


def test_no_transition_puts_the_next_look_beyond_the_expiry(redis_url: str, raw: Redis) -> None:
    patient = TaskStore(StoreSettings(redis_url=redis_url, lease_ms=60_000, resend_ms=60_000), Patience.DOOR)
    for stage in (queued, running, resumed):
        task_id = stage(patient, ttl_ms=1_000)
        assert raw.zscore(TaskKeys.of(task_id).due, task_id) == int(field(raw, task_id, "expires") or 0)
    task_id = parked(patient, [Asked("limited", b"{}", "", 60_000)], ttl_ms=1_000)
    assert raw.zscore(TaskKeys.of(task_id).due, task_id) == int(field(raw, task_id, "expires") or 0)
    patient.close()


@pytest.mark.parametrize("stage", TERMINAL.values(), ids=TERMINAL)
def test_a_purged_task_leaves_nothing(store: TaskStore, raw: Redis, stage: Callable[[TaskStore], str]) -> None:
    """TASK-10, TASK-11"""
    task_id = stage(store)
    store.maintenance.purge(task_id, Remains(OWNER))
    assert store.get(OWNER, task_id).status.is_terminal
    past(raw, task_id, "expires")
    store.maintenance.purge(task_id, Remains(OWNER))
    assert raw.dbsize() == 0
    with pytest.raises(TaskNotFound):
        store.get(OWNER, task_id)


def test_a_task_that_has_not_ended_is_never_purged(store: TaskStore, raw: Redis) -> None:
    for stage in (queued, running, parked, resumed):
        task_id = stage(store)
        past(raw, task_id, "expires")
        before = snapshot(raw)
        store.maintenance.purge(task_id, Remains(OWNER))
        assert snapshot(raw) == before


def test_each_way_through_a_life_ends_with_an_empty_server(store: TaskStore, raw: Redis) -> None:
    """TASK-11"""
    task_id = parked(store, [CONFIRM, Asked("limited", b"{}", "", 60_000)])
    past_limit(raw, task_id, "limited")
    store.maintenance.lapse(task_id)
    past(raw, task_id, "expires")
    assert store.maintenance.inspect(task_id)[0] is DueKind.EXPIRE
    store.maintenance.expire(task_id)
    past(raw, task_id, "expires")
    assert store.maintenance.inspect(task_id)[0] is DueKind.PURGE
    store.maintenance.purge(task_id, Remains(OWNER))
    assert raw.dbsize() == 0
