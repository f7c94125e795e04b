"""Encryption at rest: what a key opens, and what it does not."""

import os
from base64 import b64encode

import pytest
from redis import Redis

from coatcheck.tasks_store import (
    Asked,
    Claim,
    NewTask,
    Owner,
    Patience,
    SealBroken,
    Status,
    StoreSettings,
    TaskError,
    TaskStore,
)
from coatcheck.tasks_store.encryption import Vault
from coatcheck.tasks_store.store import SEALED
from coatcheck.web.errors import json_rpc_error_of
from coatcheck.workers.settings import WorkerSettings
from tests.support.contents import contents, names
from tests.support.platform import Platform
from tests.support.waiting import wait_until

OLD, NEW = os.urandom(32), os.urandom(32)
VALUE = b'{"secret": "value"}'
ANN = Owner("acme", "ann")
MARKER = b"M4RK3R"


def test_a_value_comes_back_and_nothing_of_it_is_seen() -> None:
    vault = Vault([OLD])
    sealed = vault.seal("task", "result", VALUE)
    assert b"secret" not in sealed
    assert vault.open("task", "result", sealed) == VALUE
    assert vault.seal("task", "result", VALUE) != sealed


@pytest.mark.parametrize("place", [("other", "result"), ("task", "arguments"), ("task", "answer:result")])
def test_a_value_that_was_moved_does_not_open(place: tuple[str, str]) -> None:
    """Bound to the task and to the field."""
    vault = Vault([OLD])
    with pytest.raises(SealBroken):
        vault.open(*place, vault.seal("task", "result", VALUE))


def test_a_value_that_was_altered_does_not_open() -> None:
    vault = Vault([OLD])
    sealed = bytearray(vault.seal("task", "result", VALUE))
    for n in range(1, len(sealed)):
        altered = bytes(sealed[:n]) + bytes([sealed[n] ^ 1]) + bytes(sealed[n + 1 :])
        with pytest.raises(SealBroken):
            vault.open("task", "result", altered)
    for length in range(1, len(sealed)):
        with pytest.raises(SealBroken):
            vault.open("task", "result", bytes(sealed[:length]))


def test_the_first_key_seals_and_all_open() -> None:
    """A new key is put in front, and the old one goes when nothing is left that it sealed."""
    rotated = Vault([NEW, OLD])
    assert rotated.open("t", "f", Vault([OLD]).seal("t", "f", VALUE)) == VALUE
    assert Vault([NEW]).open("t", "f", rotated.seal("t", "f", VALUE)) == VALUE
    for without in (Vault([NEW]), Vault([])):
        with pytest.raises(SealBroken):
            without.open("t", "f", Vault([OLD]).seal("t", "f", VALUE))


def test_what_was_stored_before_there_was_a_key_is_read_as_it_is() -> None:
    assert Vault([OLD]).open("t", "f", Vault([]).seal("t", "f", VALUE)) == VALUE
    assert Vault([OLD]).seal("t", "f", b"") == b""


def test_with_a_key_nothing_of_a_task_can_be_read_in_the_store(redis_url: str, raw: Redis) -> None:
    """Arguments, inputs, answers, steps, results and the data of errors; and the task works as without."""
    store = TaskStore(StoreSettings(redis_url=redis_url, encryption_keys=(OLD,)), Patience.DOOR)
    marked = b'"%s"' % MARKER
    given = {"first": (marked, marked)}
    task, _ = store.create(NewTask(ANN, "tool", marked, answers=given, idempotency_key="once"))
    first = store.claim(task.task_id, "run-1")
    assert isinstance(first, Claim)
    assert (first.arguments, first.inputs["first"].request, first.inputs["first"].answer) == (marked,) * 3
    store.keep_step(task.task_id, "run-1", "step", marked)
    store.park(task.task_id, "run-1", [Asked("second", marked)])
    assert store.get(ANN, task.task_id).input_requests == {"second": marked}
    store.answer(ANN, task.task_id, {"second": marked})
    checked = store.given(task.task_id, "second")
    assert checked is not None
    assert (checked.request, checked.answer) == (marked, marked)
    second = store.claim(task.task_id, "run-2")
    assert isinstance(second, Claim)
    assert (second.steps, second.inputs["second"].answer) == ({"step": marked}, marked)
    assert found_in(raw) == []
    store.finish(task.task_id, "run-2", Status.COMPLETED, result=marked)
    assert store.get(ANN, task.task_id).result == marked
    failed, _ = store.create(NewTask(ANN, "tool", b"{}"))
    store.claim(failed.task_id, "run-1")
    store.finish(failed.task_id, "run-1", Status.FAILED, error=TaskError(1, "no", marked))
    error = store.get(ANN, failed.task_id).error
    assert error is not None
    assert error.data == marked
    assert found_in(raw) == []
    store.close()


def found_in(raw: Redis) -> list[str]:
    """Where the marker can be read."""
    return [name for name in names(raw) if MARKER in contents(raw, name)]


def test_a_task_whose_key_a_worker_lacks_waits_for_one_that_has_it() -> None:
    """Web and workers are restarted one after the other when a key is rotated."""
    old, new = (b64encode(key).decode() for key in (OLD, NEW))
    env = {"COATCHECK_ENCRYPTION_KEYS": f"{new},{old}"}
    with Platform(tools="tests.security.tools", env=env) as platform, platform.client() as client:
        platform.start(workers=0)
        worker = platform.start_worker(env={"COATCHECK_ENCRYPTION_KEYS": old})
        task_id = client.start("carry", {"secret": "anything"})
        worker.wait_for_line("left to the sweeper", 20.0)
        waiting = client.get(task_id).result
        assert (waiting["status"], waiting["statusMessage"]) == ("working", SEALED)
        wait_until(
            lambda: worker.log.count("left to the sweeper") > WorkerSettings().max_runs,
            30.0,
            "as many runs as can be lost",
        )
        platform.start_worker()
        client.wait_for(task_id, "input_required")


def test_a_task_whose_key_the_web_lacks_is_an_outage_to_its_client(redis_url: str) -> None:
    sealed, other = (
        TaskStore(StoreSettings(redis_url=redis_url, encryption_keys=(key,)), Patience.DOOR) for key in (NEW, OLD)
    )
    task, _ = sealed.create(NewTask(ANN, "tool", b"{}"))
    sealed.claim(task.task_id, "run-1")
    sealed.finish(task.task_id, "run-1", Status.COMPLETED, result=b"{}")
    with pytest.raises(SealBroken) as broken:
        other.get(ANN, task.task_id)
    refusal = json_rpc_error_of(broken.value)
    assert refusal is not None
    assert refusal.status == 503
    sealed.close()
    other.close()
