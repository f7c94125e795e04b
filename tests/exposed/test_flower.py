"""What an operator does in Flower to our own tasks, the record hears of."""

import re
from collections.abc import Iterator

import httpx
import pytest

from tests.e2e.ledger import LEDGER, Ledger
from tests.exposed.flower import logged_in
from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.waiting import wait_until


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    """What the tools really did."""
    return Ledger(tmp_path_factory.mktemp("ledger") / "ledger.sqlite")


@pytest.fixture(scope="module")
def platform(ledger: Ledger) -> Iterator[Platform]:
    """A platform with one process for work."""
    with Platform(env={LEDGER: str(ledger.path)}) as platform:
        yield platform.start(concurrency=1)


@pytest.fixture(scope="module")
def flower(platform: Platform) -> Iterator[httpx.Client]:
    """Flower, for tests that leave it running."""
    with logged_in(platform) as operator:
        yield operator


def revoke(flower: httpx.Client, message_id: str, *, terminate: bool = False) -> None:
    """The operator has pressed the button of the page of this run."""
    answer = flower.post(f"/api/task/revoke/{message_id}", params={"terminate": str(terminate).lower()})
    assert answer.status_code == 200, answer.text


def test_a_revoked_message_is_a_cancelled_task_that_never_ran(
    client: Client, flower: httpx.Client, ledger: Ledger
) -> None:
    """C33"""
    running = client.start("sleep", {"seconds": 30})
    wait_until(lambda: ledger.count(running, "begun"), what="the process to be taken")
    queued = client.start("quick")
    revoke(flower, f"{queued}.1")
    client.cancel(running)
    assert client.wait_for(queued)["status"] == "cancelled"
    assert ledger.entries(queued) == []


def test_a_terminated_run_is_a_cancelled_task_and_not_run_again(
    client: Client, flower: httpx.Client, ledger: Ledger
) -> None:
    task_id = client.start("deaf")
    wait_until(lambda: ledger.count(task_id, "begun"), what="its start")
    revoke(flower, f"{task_id}.1", terminate=True)
    assert client.wait_for(task_id)["status"] == "cancelled"
    assert client.wait_for(client.start("quick"))["status"] == "completed"
    assert ledger.count(task_id, "begun") == 1


def test_revoking_a_run_that_has_ended_changes_nothing(client: Client, flower: httpx.Client) -> None:
    task_id = client.start("ask_one")
    client.wait_for(task_id, "input_required")
    revoke(flower, f"{task_id}.1", terminate=True)
    assert client.wait_for(client.start("quick"))["status"] == "completed"
    assert client.get(task_id).result["status"] == "input_required"
    client.update(task_id, {"name": {"action": "decline"}})
    assert client.wait_for(task_id)["status"] == "completed"


def test_without_a_login_nobody_gets_in(platform: Platform, flower: httpx.Client) -> None:
    """C33"""
    with httpx.Client(base_url=flower.base_url, trust_env=False) as stranger:
        assert stranger.get("/tasks").status_code == 401
        assert stranger.post("/api/task/revoke/1.1").status_code == 401


def test_behind_a_path_prefix_the_page_and_all_that_it_needs_load(platform: Platform) -> None:
    """C35"""
    with logged_in(platform, "--url_prefix=ops/flower", prefix="/ops/flower") as operator:
        document = operator.get("/tasks")
        assert document.status_code == 200
        needed = set(re.findall(r'(?:src|href)="(/[^"#]+\.(?:js|css))', document.text))
        assert needed
        for path in needed:
            assert path.startswith("/ops/flower/")
            assert httpx.get(operator.base_url.copy_with(path=path), trust_env=False).status_code == 200
