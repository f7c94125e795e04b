"""A run claims, writes, hands back and ends; a run that lost its lease does none of it."""

from collections.abc import Callable

import pytest
from redis import Redis

from coatcheck.tasks_store import (
    Claim,
    NextRun,
    Refusal,
    Remains,
    RunSuperseded,
    Status,
    TaskError,
    TaskStore,
    Verdict,
)
from coatcheck.tasks_store.keys import TaskKeys
from tests.store.stages import (
    CONFIRM,
    OWNER,
    TERMINAL,
    YES,
    call,
    cancelling,
    field,
    parked,
    past,
    queued,
    resumed,
    running,
    snapshot,
)


def test_a_claim_hands_over_all_that_the_run_needs(store: TaskStore) -> None:
    task, _ = store.create(call(capabilities=b'{"sampling":{}}', trace=b'{"traceparent":"00-1"}'))
    assert store.claim(task.task_id, "run-1") == Claim(
        task_id=task.task_id,
        run_id="run-1",
        run_number=1,
        tool="report",
        owner=OWNER,
        arguments=b'{"size":1}',
        capabilities=b'{"sampling":{}}',
        trace=b'{"traceparent":"00-1"}',
        created_ms=task.created_ms,
        expires_ms=task.created_ms + task.ttl_ms,
        steps={},
        inputs={},
    )
    assert store.get(OWNER, task.task_id).message == "Running"


def test_the_next_run_gets_the_steps_and_answers_of_the_earlier_ones(store: TaskStore) -> None:
    task_id = running(store)
    store.keep_step(task_id, "run-1", "load", b"[1,2]")
    store.park(task_id, "run-1", [CONFIRM])
    store.answer(OWNER, task_id, {CONFIRM.input_key: YES})
    store.accept(task_id, CONFIRM.input_key, Verdict.REJECTED, "not like this")

    claim = store.claim(task_id, "run-2")
    assert isinstance(claim, Claim)
    assert claim.run_number == 2
    assert claim.steps == {"load": b"[1,2]"}
    given = claim.inputs[CONFIRM.input_key]
    assert (given.request, given.answer, given.verdict, given.why) == (
        CONFIRM.request,
        YES,
        Verdict.REJECTED,
        "not like this",
    )


def test_a_claim_repeated_by_its_own_run_is_counted_once(store: TaskStore) -> None:
    task_id = queued(store)
    first = store.claim(task_id, "run-1")
    assert store.claim(task_id, "run-1") == first


@pytest.mark.parametrize("dead", [False, True], ids=["a live lease", "a dead lease"])
def test_a_second_delivery_is_refused_while_a_run_holds(store: TaskStore, raw: Redis, dead: bool) -> None:
    """Also of a dead lease: only the sweeper judges, or a poison job would go round for ever."""
    task_id = running(store)
    if dead:
        past(raw, task_id, "lease")
    assert store.claim(task_id, "run-2") is Refusal.BUSY


def test_a_delivery_for_a_parked_ended_or_purged_task_is_a_no_op(store: TaskStore, raw: Redis) -> None:
    assert store.claim(parked(store), "run-2") is Refusal.PARKED
    for stage in TERMINAL.values():
        assert store.claim(stage(store), "run-2") is Refusal.TERMINAL
    assert store.claim("0" * 33, "run-1") is Refusal.GONE


WRITES: dict[str, Callable[[TaskStore, str, str], object]] = {
    "renew": lambda store, task_id, run_id: store.renew(task_id, run_id),
    "progress": lambda store, task_id, run_id: store.progress(task_id, run_id, "Half", b"{}"),
    "keep_step": lambda store, task_id, run_id: store.keep_step(task_id, run_id, "load", b"1"),
    "park": lambda store, task_id, run_id: store.park(task_id, run_id, [CONFIRM]),
    "finish": lambda store, task_id, run_id: store.finish(task_id, run_id, Status.COMPLETED, result=b"{}"),
    "release": lambda store, task_id, run_id: store.release(task_id, run_id),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("how", ["recovered", "recovered and claimed", "cancelled past the grace", "expired", "purged"])
def test_every_write_of_a_superseded_run_is_refused_and_leaves_no_trace(
    store: TaskStore, raw: Redis, write: Callable[[TaskStore, str, str], object], how: str
) -> None:
    task_id = running(store)
    if how.startswith("recovered"):
        past(raw, task_id, "lease")
        assert store.maintenance.recover(task_id, held=False)
        if how.endswith("claimed"):
            store.claim(task_id, "run-2")
    elif how == "cancelled past the grace":
        store.cancel(OWNER, task_id)
        past(raw, task_id, "cancel_at")
        store.maintenance.recover(task_id, held=False)
    else:
        past(raw, task_id, "expires")
        store.maintenance.expire(task_id)
        if how == "purged":
            past(raw, task_id, "expires")
            store.maintenance.purge(task_id, Remains(OWNER))
    before = snapshot(raw)

    with pytest.raises(RunSuperseded) as superseded:
        write(store, task_id, "run-1")
    assert (superseded.value.task_id, superseded.value.run_id) == (task_id, "run-1")
    assert snapshot(raw) == before


@pytest.mark.parametrize("write", ["renew", "progress", "keep_step"])
def test_a_sign_of_life_extends_the_lease_and_brings_back_the_wish_to_cancel(
    store: TaskStore, raw: Redis, write: str
) -> None:
    task_id = running(store)
    past(raw, task_id, "lease")
    assert WRITES[write](store, task_id, "run-1") is False
    assert int(field(raw, task_id, "lease") or 0) > 1000
    assert store.maintenance.due(int(task_id[0]), 10) == []

    store.cancel(OWNER, task_id)
    assert WRITES[write](store, task_id, "run-1") is True


def test_progress_shows_as_the_tasks_message(store: TaskStore, raw: Redis) -> None:
    task_id = running(store)
    raw.hset(TaskKeys.of(task_id).task, "updated", "1000")
    store.progress(task_id, "run-1", "Half of it", b"{}")
    task = store.get(OWNER, task_id)
    assert task.message == "Half of it"
    assert task.updated_ms > 1000


def test_how_far_a_run_has_come_is_told_only_while_it_works(store: TaskStore) -> None:
    """K5.5: what a run that is over has reported says nothing of the next."""
    task_id = running(store)
    store.progress(task_id, "run-1", "Half of it", b'{"progress":1,"total":2}')
    assert store.get(OWNER, task_id).progress == b'{"progress":1,"total":2}'
    store.release(task_id, "run-1")
    assert store.get(OWNER, task_id).progress == b""
    store.claim(task_id, "run-2")
    assert store.get(OWNER, task_id).progress == b""


def test_progress_with_the_same_message_is_news(store: TaskStore, raw: Redis) -> None:
    """K5.5."""
    task_id = running(store)
    store.progress(task_id, "run-1", "Counting", b'{"progress":1,"total":2}')
    raw.hset(TaskKeys.of(task_id).task, "updated", "1000")
    store.progress(task_id, "run-1", "Counting", b'{"progress":2,"total":2}')
    assert store.get(OWNER, task_id).updated_ms > 1000


def test_the_first_result_of_a_step_stands(store: TaskStore) -> None:
    task_id = running(store)
    store.keep_step(task_id, "run-1", "load", b"1")
    store.keep_step(task_id, "run-1", "load", b"2")
    store.release(task_id, "run-1")
    assert store.claim(task_id, "run-2").steps == {"load": b"1"}  # type: ignore[union-attr]


def test_a_released_run_is_followed_by_the_next_and_is_not_counted_as_lost(store: TaskStore) -> None:
    task_id = queued(store, max_runs=1)
    for number in range(1, 5):
        claim = store.claim(task_id, f"run-{number}")
        assert isinstance(claim, Claim)
        assert claim.run_number == number
        assert store.release(task_id, f"run-{number}") == NextRun(task_id, "report", number + 1)
    assert store.get(OWNER, task_id).status is Status.WORKING


def test_a_run_that_should_end_is_not_released_and_does_not_park(store: TaskStore, raw: Redis) -> None:
    task_id = cancelling(store)
    before = snapshot(raw)
    assert store.release(task_id, "run-1") is None
    assert store.park(task_id, "run-1", [CONFIRM]) is False
    assert snapshot(raw) == before


def test_a_result_is_kept_byte_for_byte(store: TaskStore) -> None:
    task_id = running(store)
    result = '{"text":"é日\\u0000","n":1.0}'.encode() + b"\x00\xff" * 10
    assert store.finish(task_id, "run-1", Status.COMPLETED, result=result) is Status.COMPLETED
    task = store.get(OWNER, task_id)
    assert (task.status, task.result, task.error) == (Status.COMPLETED, result, None)


def test_a_failure_has_an_error_and_no_result(store: TaskStore) -> None:
    """TASK-6"""
    task_id = running(store)
    error = TaskError(-32000, "broken", b'{"x":1}')
    assert store.finish(task_id, "run-1", Status.FAILED, message="Broken", error=error) is Status.FAILED
    task = store.get(OWNER, task_id)
    assert (task.status, task.result, task.error, task.message) == (Status.FAILED, None, error, "Broken")


def test_a_run_that_somebody_asked_to_end_ends_as_cancelled_whatever_it_brings(store: TaskStore) -> None:
    for ending in (Status.COMPLETED, Status.FAILED, Status.CANCELLED):
        task_id = cancelling(store)
        result = store.finish(task_id, "run-1", ending, result=b"{}", error=TaskError(1, "x"))
        assert result is Status.CANCELLED
        task = store.get(OWNER, task_id)
        assert (task.status, task.result, task.error) == (Status.CANCELLED, None, None)


def test_an_ended_task_keeps_nothing_of_its_runs(store: TaskStore, raw: Redis) -> None:
    task_id = resumed(store)
    store.claim(task_id, "run-2")
    store.keep_step(task_id, "run-2", "load", b"1")
    store.cancel(OWNER, task_id)
    store.finish(task_id, "run-2", Status.CANCELLED)
    k = TaskKeys.of(task_id)
    names: list[bytes] = raw.hkeys(k.task)  # type: ignore[assignment]
    kept = {name.decode() for name in names}
    expected = "owner tool status phase message created updated ttl expires poll run_number finished_by"
    assert kept == set(expected.split())
    assert raw.exists(k.inputs, k.steps) == 0


@pytest.mark.parametrize("stage", TERMINAL.values(), ids=TERMINAL)
def test_a_terminal_status_is_never_left(store: TaskStore, raw: Redis, stage: Callable[[TaskStore], str]) -> None:
    """TASK-7"""
    task_id = stage(store)
    before = snapshot(raw)
    store.cancel(OWNER, task_id)
    store.answer(OWNER, task_id, {CONFIRM.input_key: YES})
    store.claim(task_id, "run-2")
    store.accept(task_id, CONFIRM.input_key, Verdict.ACCEPTED)
    store.maintenance.expire(task_id)
    store.maintenance.recover(task_id, held=False)
    store.maintenance.resend(task_id)
    store.maintenance.lapse(task_id)
    store.maintenance.purge(task_id, Remains(OWNER))
    store.maintenance.abandon(task_id, "run")
    store.maintenance.abort(task_id, "run", "The time limit passed")
    for name, write in WRITES.items():
        if name == "finish" and field(raw, task_id, "finished_by"):
            write(store, task_id, "run-1")  # its own repetition, which is acknowledged
            continue
        with pytest.raises(RunSuperseded):
            write(store, task_id, "run-1")
    assert snapshot(raw) == before


def test_an_abandoned_run_is_due_at_once(store: TaskStore) -> None:
    task_id = running(store)
    store.maintenance.abandon(task_id, "run")
    assert store.maintenance.due(int(task_id[0]), 10) == [task_id]
    assert store.maintenance.recover(task_id, held=False) == NextRun(task_id, "report", 2)


def test_a_run_of_another_process_is_neither_abandoned_nor_aborted(store: TaskStore, raw: Redis) -> None:
    task_id = running(store)
    before = snapshot(raw)
    store.maintenance.abandon(task_id, "walk")
    store.maintenance.abort(task_id, "walk", "The time limit passed")
    assert snapshot(raw) == before


def test_runs_that_were_lost_before_the_task_got_further_do_not_count(store: TaskStore) -> None:
    """A long job may lose many workers, as long as it keeps new steps in between."""
    task_id = queued(store, max_runs=2)
    for number in range(1, 5):
        store.claim(task_id, f"run-{number}")
        store.keep_step(task_id, f"run-{number}", f"step-{number}", b"1")
        store.maintenance.abandon(task_id, "run")
        assert store.maintenance.recover(task_id, held=False)
    store.claim(task_id, "run-5")
    store.keep_step(task_id, "run-5", "step-4", b"1")
    store.maintenance.abandon(task_id, "run")
    store.maintenance.recover(task_id, held=False)
    assert store.get(OWNER, task_id).status is Status.FAILED


def test_an_aborted_task_is_failed_and_says_why(store: TaskStore) -> None:
    task_id = running(store)
    store.maintenance.abort(task_id, "run", "The time limit passed")
    task = store.get(OWNER, task_id)
    assert (task.status, task.error) == (Status.FAILED, TaskError(-32603, "The time limit passed"))
