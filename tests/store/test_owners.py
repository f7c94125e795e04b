"""A task is its owner's alone."""

from collections.abc import Callable

import pytest
from redis import Redis

from coatcheck.tasks_store import Owner, TaskNotFound, TaskStore
from coatcheck.tasks_store.model import new_task_id
from tests.store.stages import CONFIRM, OWNER, STRANGER, TERMINAL, YES, parked, queued, running, snapshot

OwnersMethod = Callable[[TaskStore, Owner, str], object]

EVERY_METHOD: dict[str, OwnersMethod] = {
    "get": lambda store, owner, task_id: store.get(owner, task_id),
    "answer": lambda store, owner, task_id: store.answer(owner, task_id, {CONFIRM.input_key: YES}),
    "cancel": lambda store, owner, task_id: store.cancel(owner, task_id),
}

NOBODYS_IDS = {
    "unknown": new_task_id(),
    "nobody's": "0" * 33,
    "bucket out of range": "8" + "0" * 32,
    "empty": "",
    "too short": "0abc",
    "too long": "0" * 34,
    "upper case": "0" + "A" * 32,
    "new line": "0" * 33 + "\n",
    "another key": "0:task:" + "0" * 26,
    "hash tag": "}{1}:due",
    "not ASCII": "\u0660" * 33,
    "half a character": "\ud800" * 33,
    "a megabyte": "0" * 1_000_000,
}


@pytest.mark.parametrize("method", EVERY_METHOD.values(), ids=EVERY_METHOD)
@pytest.mark.parametrize("task_id", NOBODYS_IDS.values(), ids=NOBODYS_IDS)
def test_an_id_that_is_nobodys_is_not_found(store: TaskStore, method: OwnersMethod, task_id: str) -> None:
    """TASK-10"""
    with pytest.raises(TaskNotFound) as unknown:
        method(store, OWNER, task_id)
    assert str(unknown.value) == "no such task"


@pytest.mark.parametrize("method", EVERY_METHOD.values(), ids=EVERY_METHOD)
@pytest.mark.parametrize("stage", [queued, running, parked, *TERMINAL.values()])
def test_a_foreign_task_is_not_found_and_not_touched(
    store: TaskStore, raw: Redis, method: OwnersMethod, stage: Callable[[TaskStore], str]
) -> None:
    """TASK-10, TASK-13"""
    task_id = stage(store)
    before = snapshot(raw)
    with pytest.raises(TaskNotFound) as foreign:
        method(store, STRANGER, task_id)
    assert str(foreign.value) == "no such task"
    assert snapshot(raw) == before


def test_twenty_owners_see_their_own_task_and_no_other(store: TaskStore) -> None:
    """TASK-10"""
    names = ["", "a", "b", '"', ","]
    owners = [Owner(tenant, principal) for tenant in names[:4] for principal in names]
    tasks = {owner: queued(store, owner=owner, idempotency_key="same") for owner in owners}
    assert len(set(tasks.values())) == 20
    for owner in owners:
        for other, task_id in tasks.items():
            if owner == other:
                assert store.get(owner, task_id).task_id == task_id
            else:
                with pytest.raises(TaskNotFound):
                    store.get(owner, task_id)


def test_an_owner_comes_back_from_its_key_and_shares_it_with_nobody() -> None:
    owners = [
        Owner("a", "b"),
        Owner("a\n", "b"),
        Owner("", "ab"),
        Owner("ab", ""),
        Owner('a","b', ""),
        Owner("é", "日"),
    ]
    assert [Owner.from_key(owner.key) for owner in owners] == owners
    assert len({owner.key for owner in owners}) == len(owners)
    assert len({owner.tag for owner in owners}) == len(owners)
