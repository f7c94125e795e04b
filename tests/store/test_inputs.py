"""A job parks, its inputs are answered or lapse, and the next run is due exactly once."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from redis import Redis

from coatcheck.tasks_store import (
    Answered,
    Asked,
    Claim,
    NextRun,
    Patience,
    Status,
    StoreSettings,
    TaskStore,
    Verdict,
)
from coatcheck.tasks_store.keys import TaskKeys
from tests.store.stages import (
    CONFIRM,
    NO,
    OWNER,
    REASON,
    YES,
    completed,
    field,
    parked,
    past_limit,
    queued,
    resumed,
    running,
    snapshot,
)

LIMITED = Asked("limited", b'{"method":"roots/list"}', "", 60_000)


def test_a_parked_task_requires_input_in_the_order_it_was_asked_and_holds_no_lease(
    store: TaskStore, raw: Redis
) -> None:
    """TASK-6, TASK-7"""
    task_id = parked(store, [REASON, CONFIRM])
    task = store.get(OWNER, task_id)
    assert task.status is Status.INPUT_REQUIRED
    assert list(task.input_requests.items()) == [("reason", REASON.request), ("confirm", CONFIRM.request)]
    assert field(raw, task_id, "lease") is None
    assert raw.zscore(TaskKeys.of(task_id).due, task_id) == task.created_ms + task.ttl_ms


def test_the_last_answer_makes_the_task_work_again_and_its_next_run_due(store: TaskStore) -> None:
    """TASK-7, TASK-8"""
    task_id = parked(store, [CONFIRM, REASON])
    assert store.answer(OWNER, task_id, {"reason": YES}) == Answered(accepted=("reason",))
    task = store.get(OWNER, task_id)
    assert task.status is Status.INPUT_REQUIRED
    assert task.input_requests == {"confirm": CONFIRM.request}

    assert store.answer(OWNER, task_id, {"confirm": NO}) == Answered(
        accepted=("confirm",), resumes=NextRun(task_id, "report", 2), round=("confirm", "reason")
    )
    task = store.get(OWNER, task_id)
    assert task.status is Status.WORKING
    assert task.input_requests == {}


def test_the_first_answer_stands(store: TaskStore) -> None:
    """TASK-8"""
    task_id = parked(store, [CONFIRM, REASON])
    store.answer(OWNER, task_id, {"confirm": YES})
    assert store.answer(OWNER, task_id, {"confirm": NO}) == Answered()
    store.answer(OWNER, task_id, {"confirm": NO, "reason": NO})
    claim = store.claim(task_id, "run-2")
    assert isinstance(claim, Claim)
    assert {key: given.answer for key, given in claim.inputs.items()} == {"confirm": YES, "reason": NO}


@pytest.mark.parametrize("key", ["unknown", "", "confirm reason", " confirm", "request:confirm", "\ud800", "Confirm"])
def test_a_key_that_is_not_outstanding_is_ignored(store: TaskStore, raw: Redis, key: str) -> None:
    """TASK-8"""
    task_id = parked(store, [CONFIRM, REASON])
    before = snapshot(raw)
    assert store.answer(OWNER, task_id, {key: YES}) == Answered()
    assert snapshot(raw) == before


def test_an_update_of_a_task_that_asks_for_nothing_is_ignored(store: TaskStore, raw: Redis) -> None:
    """TASK-8"""
    for task_id in (queued(store), running(store), resumed(store), completed(store)):
        before = snapshot(raw)
        assert store.answer(OWNER, task_id, {"confirm": YES}) == Answered()
        assert snapshot(raw) == before


def test_a_hundred_answers_at_once_are_stored_and_resume_the_job_once(redis_url: str, raw: Redis) -> None:
    store = TaskStore(StoreSettings(redis_url=redis_url), Patience.WORKER)
    asked = [Asked(f"key-{number}", b"{}") for number in range(10)]
    task_id = parked(store, asked)
    together = Barrier(100)

    def answer(number: int) -> Answered:
        together.wait()
        return store.answer(OWNER, task_id, {f"key-{number % 10}": str(number).encode()})

    with ThreadPoolExecutor(100) as threads:
        replies = list(threads.map(answer, range(100)))
    claim = store.claim(task_id, "run-2")
    store.close()
    assert isinstance(claim, Claim)
    assert [reply.resumes for reply in replies if reply.resumes] == [NextRun(task_id, "report", 2)]
    winners = {reply.accepted[0]: str(number).encode() for number, reply in enumerate(replies) if reply.accepted}
    assert sum(bool(reply.accepted) for reply in replies) == 10
    assert {key: given.answer for key, given in claim.inputs.items()} == winners


@pytest.mark.parametrize("key", ["confirm", "beforehand"])
def test_an_input_key_is_never_used_twice_in_a_tasks_life(store: TaskStore, raw: Redis, key: str) -> None:
    """TASK-8"""
    task_id = parked(store, answers={"beforehand": (b"{}", YES)})
    store.answer(OWNER, task_id, {"confirm": YES})
    store.claim(task_id, "run-2")
    before = snapshot(raw)
    with pytest.raises(ValueError, match=key):
        store.park(task_id, "run-2", [REASON, Asked(key, b"{}")])
    assert snapshot(raw) == before
    assert store.park(task_id, "run-2", [REASON])
    assert list(store.get(OWNER, task_id).input_requests) == ["reason"]


def test_a_numbered_key_is_a_key_like_any_other(store: TaskStore) -> None:
    task_id = parked(store, [Asked("confirm#2", b"{}")])
    assert store.answer(OWNER, task_id, {"confirm#2": YES}).accepted == ("confirm#2",)


def test_a_second_round_is_its_own(store: TaskStore) -> None:
    task_id = resumed(store)
    store.claim(task_id, "run-2")
    store.park(task_id, "run-2", [REASON])
    assert store.answer(OWNER, task_id, {"reason": YES}) == Answered(
        accepted=("reason",), resumes=NextRun(task_id, "report", 3), round=("reason",)
    )


def test_an_answered_input_is_given_until_its_verdict_is_known_and_the_first_verdict_stands(store: TaskStore) -> None:
    task_id = parked(store, [Asked("confirm", b"{}", "module:check"), REASON])
    assert store.given(task_id, "confirm") is None
    store.answer(OWNER, task_id, {"confirm": YES})

    given = store.given(task_id, "confirm")
    assert given is not None
    assert (given.request, given.answer, given.verdict, given.validator) == (
        b"{}",
        YES,
        Verdict.UNCHECKED,
        "module:check",
    )
    assert store.accept(task_id, "confirm", Verdict.REJECTED, "not like this")
    assert store.accept(task_id, "confirm", Verdict.ACCEPTED)
    assert store.given(task_id, "confirm") is None

    store.answer(OWNER, task_id, {"reason": NO})
    claim = store.claim(task_id, "run-2")
    assert isinstance(claim, Claim)
    assert (claim.inputs["confirm"].verdict, claim.inputs["confirm"].why) == (Verdict.REJECTED, "not like this")


def test_nothing_is_accepted_of_an_ended_task_or_without_an_answer(store: TaskStore, raw: Redis) -> None:
    for task_id in (completed(store), parked(store), "0" * 33):
        before = snapshot(raw)
        assert store.accept(task_id, "confirm", Verdict.ACCEPTED) is False
        assert store.given(task_id, "confirm") is None
        assert snapshot(raw) == before


def test_the_input_whose_limit_is_first_decides_when_the_task_is_due(store: TaskStore, raw: Redis) -> None:
    task_id = parked(store, [CONFIRM, Asked("late", b"{}", "", 900_000), LIMITED])
    k = TaskKeys.of(task_id)
    assert raw.zscore(k.due, task_id) == int(raw.hget(k.inputs, "limit:limited"))  # type: ignore[arg-type]
    store.answer(OWNER, task_id, {"limited": YES})
    assert raw.zscore(k.due, task_id) == int(raw.hget(k.inputs, "limit:late"))  # type: ignore[arg-type]
    store.answer(OWNER, task_id, {"late": YES})
    task = store.get(OWNER, task_id)
    assert raw.zscore(k.due, task_id) == task.created_ms + task.ttl_ms


def test_an_input_past_its_limit_lapses_and_the_others_stay_open(store: TaskStore, raw: Redis) -> None:
    task_id = parked(store, [CONFIRM, LIMITED])
    past_limit(raw, task_id, "limited")
    assert store.maintenance.lapse(task_id) is None
    assert list(store.get(OWNER, task_id).input_requests) == ["confirm"]
    assert store.answer(OWNER, task_id, {"limited": YES}) == Answered()

    answered = store.answer(OWNER, task_id, {"confirm": YES})
    assert answered.resumes == NextRun(task_id, "report", 2)
    claim = store.claim(task_id, "run-2")
    assert isinstance(claim, Claim)
    assert claim.inputs["limited"].verdict is Verdict.LAPSED
    assert claim.inputs["confirm"].verdict is Verdict.UNCHECKED


def test_the_last_input_to_lapse_makes_the_next_run_due(store: TaskStore, raw: Redis) -> None:
    task_id = parked(store, [LIMITED])
    past_limit(raw, task_id, "limited")
    assert store.maintenance.lapse(task_id) == NextRun(task_id, "report", 2)
    assert store.get(OWNER, task_id).status is Status.WORKING
    assert store.maintenance.lapse(task_id) is None


def test_nothing_lapses_early(store: TaskStore, raw: Redis) -> None:
    task_id = parked(store, [CONFIRM, LIMITED])
    before = snapshot(raw)
    assert store.maintenance.lapse(task_id) is None
    assert snapshot(raw) == before
