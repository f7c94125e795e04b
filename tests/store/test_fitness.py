"""A server that could lose records is refused, or warned of; a strict store promises nothing that is not on disk."""

import pytest

from tasks_store import (
    ANONYMOUS,
    NewTask,
    Patience,
    StoreSettings,
    StoreUnavailable,
    TaskStore,
    UnfitStore,
    refuse_unfit_store,
)
from tests.support.valkey import Valkey

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
        with pytest.raises(StoreUnavailable):
            store.create(NEW)
        store.close()
