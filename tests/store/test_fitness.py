"""A server that could lose records is refused, or warned of; a strict store promises nothing that is not on disk."""

from dataclasses import replace

import pytest

from tasks_store import (
    ANONYMOUS,
    Asked,
    Claim,
    NewTask,
    Patience,
    StoreSettings,
    StoreUnavailable,
    TaskStore,
    UnfitStore,
    WriteUnconfirmed,
    new_run_id,
    refuse_unfit_store,
)
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until

NEW = NewTask(ANONYMOUS, "report", b"{}")


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl"])
def test_a_server_that_evicts_is_refused_and_a_setting_turns_that_into_a_warning(
    policy: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Valkey(maxmemory_policy=policy) as server:
        with pytest.raises(UnfitStore) as refused:
            refuse_unfit_store(StoreSettings(redis_url=server.url))
        refuse_unfit_store(StoreSettings(redis_url=server.url, unfit_store="warn"))
    assert policy in refused.value.faults[0]
    assert [policy in record.getMessage() for record in caplog.records] == [True]


def test_a_fit_server_and_one_that_does_not_answer_yet_are_let_through() -> None:
    with Valkey() as server:
        refuse_unfit_store(StoreSettings(redis_url=server.url))
    refuse_unfit_store(StoreSettings(redis_url=server.url))


def test_strict_is_refused_by_a_server_without_an_append_only_file() -> None:
    with Valkey() as server, pytest.raises(UnfitStore, match="appendonly is off"):
        refuse_unfit_store(StoreSettings(redis_url=server.url, durability="strict"))


def test_a_strict_store_creates_what_a_killed_server_still_has() -> None:
    with Valkey(appendonly="yes", appendfsync="always") as server:
        settings = StoreSettings(redis_url=server.url, durability="strict")
        refuse_unfit_store(settings)
        store = TaskStore(settings, Patience.DOOR)
        task, is_new = store.create(NEW)
        server.kill()
        server.start()
        assert is_new
        assert store.get(ANONYMOUS, task.task_id) == task
        store.close()


def test_a_strict_store_gives_no_handle_when_the_server_stopped_confirming() -> None:
    with Valkey(appendonly="yes") as server:
        with server.client() as client:
            client.config_set("appendonly", "no")
        store = TaskStore(StoreSettings(redis_url=server.url, durability="strict"), Patience.DOOR)
        for _ in range(2):  # the second finds the task of the first, which nobody has confirmed
            with pytest.raises(WriteUnconfirmed):
                store.create(replace(NEW, idempotency_key="once"))
        store.close()


def test_a_strict_store_confirms_an_answer_that_is_sent_again() -> None:
    with Valkey(appendonly="yes") as server:
        store = TaskStore(StoreSettings(redis_url=server.url, durability="strict"), Patience.DOOR)
        task, _ = store.create(NEW)
        claim = store.claim(task.task_id, new_run_id("test"))
        assert isinstance(claim, Claim)
        store.park(task.task_id, claim.run_id, [Asked("sure", b"{}")])
        with server.client() as client:
            client.config_set("appendonly", "no")
        for _ in range(2):
            with pytest.raises(WriteUnconfirmed):
                store.answer(ANONYMOUS, task.task_id, {"sure": b"{}"})
        with pytest.raises(WriteUnconfirmed):
            store.confirm()
        with server.client() as client:
            client.config_set("appendonly", "yes")
        wait_until(lambda: confirms(store), what="the server to confirm again")
        assert store.answer(ANONYMOUS, task.task_id, {"sure": b"{}"}).accepted == ()
        store.close()


def confirms(store: TaskStore) -> bool:
    """The server says that everything is on disk."""
    try:
        store.confirm()
    except StoreUnavailable:
        return False
    return True
