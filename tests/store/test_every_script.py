"""What holds for every script: safe to send twice, all or nothing, one hash slot, documented replies."""

import re
from collections.abc import Iterator

import pytest
from redis import Redis

from coatcheck.tasks_store import Patience, StoreRefused, StoreSettings
from coatcheck.tasks_store.scripts import Argument, script, script_names, source_of
from tests.store.listening import ListeningStore
from tests.store.scenarios import SCENARIOS, Scenario, attempt
from tests.store.stages import snapshot
from tests.support.leaks import leaked_keys
from tests.support.scripts_table import README, table

every_scenario = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)

DONE_WITHOUT_MEMORY = {
    "abort-ABORTED-SUPERSEDED",
    "cancel-DONE-TOO_LATE",
    "expire-EXPIRED-EARLY",
    "finish-FINISHED-FINISHED",
    "purge-PURGED-PURGED",
    "recover-CANCELLED-EARLY",
    "recover-FAILED-EARLY",
    "revoke-REVOKED-IGNORED",
    "settle-SETTLED-ENDED",
}
"""Transitions that give memory back, and so must work when there is none."""


@pytest.fixture
def store(redis_url: str) -> Iterator[ListeningStore]:
    """The store, listened to."""
    store = ListeningStore(StoreSettings(redis_url=redis_url), Patience.DOOR)
    yield store
    store.close()


def documented_codes(name: str) -> set[str]:
    """The codes that stand in the header of a script."""
    text = source_of(name)
    header = text.partition("--!")[0]
    replies = re.sub(r"\([^)]*\)", "", header.partition("Replies:")[2])
    return set(re.findall(r"\b[A-Z][A-Z_]{3,}\b", replies))


def returned_codes(name: str) -> set[str]:
    """The codes that a script can return."""
    text = source_of(name)
    return set(re.findall(r"(?:return|reply =) \{ '([A-Z_]+)'", text))


def test_every_script_has_a_scenario_for_each_reply_that_its_header_documents() -> None:
    led_to: dict[str, set[str]] = {name: set() for name in script_names()}
    for scenario in SCENARIOS:
        led_to[scenario.script] |= {scenario.first, scenario.second} - {""}
    assert {one.script for one in SCENARIOS} == set(script_names())
    assert led_to == {name: documented_codes(name) for name in script_names()}
    assert led_to == {name: returned_codes(name) for name in script_names()}


@pytest.mark.parametrize("name", script_names())
def test_every_header_tells_what_a_second_sending_does_or_that_nothing_is_written(name: str) -> None:
    text = source_of(name)
    header = text.partition("--!")[0]
    assert "Sent twice" in header or "Writes nothing." in header


@every_scenario
def test_a_script_sent_twice_leaves_what_it_left_the_first_time(
    scenario: Scenario, store: ListeningStore, raw: Redis
) -> None:
    send = scenario.prepare(store, raw)
    store.heard.clear()

    attempt(send)
    after_first = snapshot(raw)
    attempt(send)
    after_second = snapshot(raw)

    heard = [code for name, code in store.heard if name == scenario.script]
    assert heard == [scenario.first, scenario.second]
    assert after_second.living == after_first.living
    if scenario.moves_clock:
        assert _without_times(after_second.values) == _without_times(after_first.values)
    else:
        assert after_second.values == after_first.values


@every_scenario
def test_a_script_without_memory_is_refused_whole_or_done_whole(
    scenario: Scenario, store: ListeningStore, raw: Redis
) -> None:
    send = scenario.prepare(store, raw)
    store.heard.clear()
    before = snapshot(raw)
    raw.config_set("maxmemory", "1")
    try:
        attempt(send)
        refused = False
    except StoreRefused:
        refused = True
    finally:
        raw.config_set("maxmemory", "0")

    if refused:
        assert scenario.name not in DONE_WITHOUT_MEMORY
        assert snapshot(raw) == before
        return
    attempt(send)
    assert [code for name, code in store.heard if name == scenario.script] == [scenario.first, scenario.second]
    assert leaked_keys(raw) == []


@every_scenario
def test_a_script_on_a_read_only_replica_changes_nothing_and_says_so_if_it_would(
    scenario: Scenario, store: ListeningStore, raw: Redis
) -> None:
    send = scenario.prepare(store, raw)
    before = snapshot(raw)
    raw.replicaof("127.0.0.1", "1")  # of nobody: the data stays as it is
    try:
        attempt(send)
        refused = False
    except StoreRefused:
        refused = True
    finally:
        raw.replicaof("NO", "ONE")
    assert snapshot(raw) == before

    attempt(send)
    assert refused or snapshot(raw) == before


def test_a_script_takes_exactly_the_keys_and_arguments_that_it_names() -> None:
    renew = script("renew")
    named = {"task": "t", "due": "d"}
    too_few: dict[str, Argument] = {"id": "i", "run_id": "r"}
    given: dict[str, Argument] = {"id": "i", "run_id": "r", "lease_ms": 1}
    assert renew.order(named, given) == (["t", "d"], ["i", "r", 1])
    for wrong_keys, wrong_args in (
        ({"task": "t"}, given),
        ({**named, "inputs": "i"}, given),
        (named, too_few),
        (named, {**given, "lease": 1}),
    ):
        with pytest.raises(TypeError, match=r"renew\.lua"):
            renew.order(wrong_keys, wrong_args)


def test_a_script_that_the_server_has_forgotten_is_sent_again(store: ListeningStore, raw: Redis) -> None:
    assert store.maintenance.lead("worker-1")
    raw.script_flush()
    assert store.maintenance.lead("worker-1")


def _without_times(values: dict[str, object]) -> dict[str, object]:
    """The same, with every number of thirteen digits (a time of our days in ms) replaced."""
    return {key: re.sub(r"\b1\d{12}(\.0)?\b", "a time", repr(value)) for key, value in sorted(values.items())}


def test_the_readme_of_the_scripts_lists_all_of_them() -> None:
    assert table() in README.read_text(encoding="utf-8"), "python -m tests.support.scripts_table writes it"
