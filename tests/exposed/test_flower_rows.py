"""What the rows of Flower say of our own runs: the tool, the run, how it ended, and whose it is by a tag alone."""

from collections.abc import Iterator

import httpx
import pytest

from coatcheck.tasks_store import Owner
from coatcheck.web.operations.tokens import entry_of, new_token
from tests.e2e.ledger import LEDGER, Ledger
from tests.exposed.flower import logged_in, rows
from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.waiting import wait_until

ANN, BOB = Owner("acme", "ann"), Owner("acme", "bob")


@pytest.fixture(scope="module")
def tokens() -> dict[Owner, str]:
    """A token of each caller."""
    return {owner: new_token() for owner in (ANN, BOB)}


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    """What the tools really did."""
    return Ledger(tmp_path_factory.mktemp("ledger") / "ledger.sqlite")


@pytest.fixture(scope="module")
def platform(tokens: dict[Owner, str], ledger: Ledger) -> Iterator[Platform]:
    """A platform that knows its callers."""
    entries = [entry_of(token, owner.tenant, owner.principal, (), None) for owner, token in tokens.items()]
    env = {
        LEDGER: str(ledger.path),
        "COATCHECK_AUTH": "tokens",
        "COATCHECK_TOKENS": "\n".join(entries),
        "COATCHECK_POLLS_PER_SECOND": "1000",
    }
    with Platform(tools="tests.auth.tools,tests.e2e.tools", env=env) as platform:
        yield platform.start()


@pytest.fixture(scope="module")
def flower(platform: Platform) -> Iterator[httpx.Client]:
    """Flower, before anything has run."""
    with logged_in(platform) as operator:
        yield operator


@pytest.fixture
def by(platform: Platform, tokens: dict[Owner, str]) -> Iterator[dict[Owner, Client]]:
    """A client of each caller."""
    headers = {owner: {"Authorization": f"Bearer {token}"} for owner, token in tokens.items()}
    with platform.client(headers=headers[ANN]) as ann, platform.client(headers=headers[BOB]) as bob:
        yield {ANN: ann, BOB: bob}


def ended(flower: httpx.Client, search: str, number: int) -> list[dict[str, object]]:
    """The rows that are found, once there are so many and all have ended."""

    def all_there() -> bool:
        found = rows(flower, search)
        return len(found) == number and all(row["state"] in ("SUCCESS", "REVOKED") for row in found)

    wait_until(all_there, 30.0, f"{number} rows for {search}, of {rows(flower, search)}")
    return rows(flower, search)


def test_all_that_a_task_led_to_is_found_by_its_id_and_says_how_it_went(
    flower: httpx.Client, by: dict[Owner, Client]
) -> None:
    task_id = by[ANN].start("confirm", {"what": "this"})
    by[ANN].wait_for(task_id, "input_required")
    by[ANN].update(task_id, {"sure": {"action": "accept", "content": {"yes": True}}})
    by[ANN].wait_for(task_id)
    found = ended(flower, task_id, 3)
    whose = repr({"owner": ANN.tag})
    assert {(row["name"], row["result"], row["kwargs"]) for row in found} == {
        ("coatcheck.confirm", "'parked: sure'", whose),
        ("coatcheck.accept", "'sure: accepted'", whose),
        ("coatcheck.confirm", "'completed'", whose),
    }
    assert {f"{task_id}.1", f"{task_id}.2"} <= {row["uuid"] for row in found}


def test_rows_of_one_owner_are_found_by_a_tag_that_tells_no_name(flower: httpx.Client, by: dict[Owner, Client]) -> None:
    ids = {owner: client.start("confirm", {"what": "that"}) for owner, client in by.items()}
    for owner, client in by.items():
        client.wait_for(ids[owner], "input_required")
        ended(flower, ids[owner], 1)
    found = {row["uuid"] for row in rows(flower, BOB.tag)}
    assert f"{ids[BOB]}.1" in found
    assert f"{ids[ANN]}.1" not in found
    assert f"{ids[ANN]}.1" in {row["uuid"] for row in rows(flower, ANN.tag)}
    for name in ("acme", "ann", "bob"):
        assert name not in str(rows(flower, ""))


def test_a_run_whose_tool_reports_an_error_says_so(flower: httpx.Client, by: dict[Owner, Client]) -> None:
    """K3.10."""
    task_id = by[BOB].start("tell_the_model")
    assert by[BOB].wait_for(task_id)["status"] == "completed"
    (row,) = ended(flower, task_id, 1)
    assert (row["state"], row["result"]) == ("SUCCESS", "'tool_error'")


def test_a_cancelled_run_says_so(flower: httpx.Client, by: dict[Owner, Client], ledger: Ledger) -> None:
    task_id = by[BOB].start("sleep")
    wait_until(lambda: ledger.count(task_id, "begun"), what="its start")
    by[BOB].cancel(task_id)
    by[BOB].wait_for(task_id)
    (row,) = ended(flower, task_id, 1)
    assert (row["name"], row["result"], row["kwargs"]) == ("coatcheck.sleep", "'cancelled'", repr({"owner": BOB.tag}))


def test_a_run_that_was_started_by_the_sweeper_has_its_owner_too(
    platform: Platform, flower: httpx.Client, by: dict[Owner, Client]
) -> None:
    """The message was lost with its broker's memory; the record knows whose task it is."""
    platform.workers[0].stop()
    task_id = by[BOB].start("confirm", {"what": "this"})
    with platform.valkey.client() as raw:
        assert raw.delete("coatcheck:broker:coatcheck") == 1
    platform.begin(platform.workers[0])
    by[BOB].wait_for(task_id, "input_required")
    (row,) = ended(flower, task_id, 1)
    assert row["kwargs"] == repr({"owner": BOB.tag})
