"""A server that could lose records is refused, or warned of; a strict store promises nothing that is not on disk."""

import re
from dataclasses import replace

import pytest

from coatcheck.tasks_store import (
    ANONYMOUS,
    Asked,
    Claim,
    NewTask,
    Patience,
    StoreForbidden,
    StoreMisaddressed,
    StoreRefused,
    StoreSettings,
    StoreUnavailable,
    TaskStore,
    UnfitStore,
    WriteUnconfirmed,
    new_run_id,
    refuse_unfit_store,
)
from coatcheck.tasks_store.scripts import FOLDER, script_names, source_of
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until

NEW = NewTask(ANONYMOUS, "report", b"{}")


@pytest.mark.parametrize("policy", ["allkeys-lru", "volatile-ttl"])
def test_a_server_that_evicts_is_refused_and_a_setting_turns_that_into_a_warning(
    policy: str, caplog: pytest.LogCaptureFixture
) -> None:
    with Valkey(maxmemory_policy=policy, appendonly="yes") as server:
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


FORBIDDING = ("~*", "&*", "+@all", "-@dangerous")


def url_of_user(server: Valkey, *rules: str) -> str:
    """Return the address of the server for a user with these rights."""
    with server.client() as client:
        client.execute_command("ACL", "SETUSER", "app", "reset", "on", ">pw", *rules)
    return server.url.replace("unix://", "unix://app:pw@")


def test_without_the_right_to_look_a_process_starts_and_says_what_it_did_not_see(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """K3.3."""
    with Valkey(maxmemory_policy="allkeys-lru") as server:
        refuse_unfit_store(StoreSettings(redis_url=url_of_user(server, *FORBIDDING)))
    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert "may not use INFO" in record.getMessage()


@pytest.mark.parametrize(
    ("options", "rules", "told"),
    [
        ({}, ("+@all",), "A restart of Redis forgets all tasks"),
        ({"save": "900 1"}, ("+@all",), "since its last snapshot"),
        ({}, ("+@all", "-config"), "was not looked at"),
        ({"appendonly": "yes"}, ("+@all", "-config"), ""),
    ],
)
def test_a_server_that_forgets_is_told_in_words(
    options: dict[str, str], rules: tuple[str, ...], told: str, caplog: pytest.LogCaptureFixture
) -> None:
    """K3.4."""
    with Valkey(**options) as server:
        refuse_unfit_store(StoreSettings(redis_url=url_of_user(server, "~*", "&*", *rules)))
    assert [told in record.getMessage() for record in caplog.records] == ([True] if told else [])


@pytest.mark.parametrize(
    ("rules", "named"),
    [
        (("~coatcheck:*", "&coatcheck:*", "+@all", "-hset"), "hset"),
        (("~coatcheck:*", "&coatcheck:*", "+@all", "-zremrangebyscore"), "zremrangebyscore"),
        (("~coatcheck:*", "&coatcheck:*", "+@all", "-evalsha", "-eval"), "evalsha"),
        (("~coatcheck:*", "&other", "+@all"), "coatcheck:feed"),
        (("~other:*", "&coatcheck:*", "+@all"), "coatcheck:*"),
    ],
)
def test_a_right_that_is_missing_is_named(rules: tuple[str, ...], named: str) -> None:
    """K3.2: whatever command, key or channel it is that calls would have met."""
    with Valkey() as server:
        store = TaskStore(StoreSettings(redis_url=url_of_user(server, *rules)), Patience.DOOR)
        with pytest.raises(StoreForbidden, match=named.replace("*", r"\*")):
            store.probe()
        store.close()


def test_a_database_that_the_server_does_not_have_is_told_and_ends_no_process() -> None:
    """K3.9."""
    with Valkey(databases="1") as server:
        settings = StoreSettings(redis_url=f"{server.url}?db=1")
        refuse_unfit_store(settings)
        store = TaskStore(settings, Patience.DOOR)
        with pytest.raises(StoreMisaddressed, match=r"^REDIS_URL names a database"):
            store.probe()
        store.close()


def test_a_probe_does_every_command_of_every_script() -> None:
    """K3.1: what it leaves out would be met by a call first."""
    texts = {name: source_of(name) for name in script_names()}
    texts["prelude"] = (FOLDER / "prelude.lua").read_text(encoding="utf-8")
    used = {name: set(re.findall(r"redis\.call\('([A-Z]+)'", text)) for name, text in texts.items()}
    assert set().union(*used.values()) - {"TIME", "PUBLISH"} == used["probe"]


@pytest.mark.parametrize("command", [("CONFIG", "SET", "maxmemory", "1"), ("REPLICAOF", "127.0.0.1", "1")])
def test_a_server_that_takes_no_writes_fails_the_probe(command: tuple[str, ...]) -> None:
    """K3.1."""
    with Valkey() as server:
        store = TaskStore(StoreSettings(redis_url=server.url), Patience.DOOR)
        store.probe()
        with server.client() as client:
            assert client.keys() == []
            client.execute_command(*command)
        with pytest.raises(StoreRefused):
            store.probe()
        store.close()
