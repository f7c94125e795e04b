"""Tools in a team's own worker, by `coatcheck.install(app)`, beside the Celery tasks that it has."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from celery import Celery

import coatcheck
from coatcheck.workers.addresses import address_of
from tests.e2e.ledger import LEDGER, Ledger
from tests.support.client import Client
from tests.support.leaks import leaked_keys
from tests.support.platform import ROOT, Platform
from tests.support.processes import Process
from tests.support.waiting import wait_until

PROJECT = Path(__file__).parent / "project"
THEIRS = {"COATCHECK_BROKER_PREFIX": "", "COATCHECK_CONTROL_EXCHANGE": "celery"}


@pytest.fixture(scope="module", params=["json-prefork", "pickle-prefork", "json-threads"])
def serializer_and_pool(request: pytest.FixtureRequest) -> tuple[str, str]:
    """What the team chose."""
    serializer, _, pool = request.param.partition("-")
    return serializer, pool


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    """What the tools really did."""
    return Ledger(tmp_path_factory.mktemp("ledger") / "ledger.sqlite")


@pytest.fixture(scope="module")
def platform(serializer_and_pool: tuple[str, str], ledger: Ledger) -> Iterator[Platform]:
    """A front door, and no worker but the team's."""
    serializer, pool = serializer_and_pool
    platform = Platform(
        env={
            **THEIRS,
            LEDGER: str(ledger.path),
            "SHOP_SERIALIZER": serializer,
            "C_FORCE_ROOT": "true",  # Celery refuses pickle to root
            "PYTHONPATH": os.pathsep.join((str(ROOT), str(PROJECT))),
        }
    )
    with platform:
        broker = address_of(platform.valkey.url).url
        platform._env |= {"SHOP_BROKER": broker, "SHOP_RESULTS": broker}
        platform.start(workers=0)
        worker = platform.process("theirs", _command(pool), {})
        platform.workers.append(worker)
        platform.begin(worker)
        platform.wait_until_ready()
        yield platform


def _command(pool: str, *more: str) -> list[str]:
    return ["celery", "-A", "shop", "worker", "--loglevel", "INFO", "--pool", pool, "--concurrency", "2", *more]


@pytest.fixture
def worker(platform: Platform) -> Process:
    """The team's worker."""
    return platform.workers[0]


@pytest.fixture
def client(platform: Platform) -> Iterator[Client]:
    """A client of the front door."""
    with platform.client() as client:
        yield client
    with platform.valkey.client() as raw:
        # Celery's own bindings of queues stay for as long as their broker does, and so do keys that wait to expire.
        assert [key for key in leaked_keys(raw) if not key.startswith(("_kombu.", "unacked"))] == []


@pytest.fixture
def shop(platform: Platform, serializer_and_pool: tuple[str, str]) -> Iterator[Celery]:
    """The team's application as its own web process has it."""
    serializer, _ = serializer_and_pool
    url = address_of(platform.valkey.url).url
    app = Celery("shop", broker=url, backend=url, set_as_current=False)
    app.conf.update(
        task_serializer=serializer, result_serializer=serializer, accept_content=["json", serializer], result_expires=60
    )
    yield app
    app.close()


def _result(app: Celery, name: str, *args: Any) -> Any:
    with Celery("sender", broker=app.conf.broker_url, set_as_current=False) as sender:
        sender.conf.task_serializer = app.conf.task_serializer
        sent: str = sender.send_task(name, args).id
    wait_until(lambda: app.backend.get_task_meta(sent, cache=False)["status"] == "SUCCESS", 20.0, name)
    return app.backend.get_task_meta(sent, cache=False)["result"]


def test_their_tasks_and_ours_run_side_by_side(client: Client, shop: Celery) -> None:
    task_id = client.start("quick", {"text": "ours"})
    assert _result(shop, "shop.tasks.add", 1, 2) == 3
    task = client.wait_for(task_id)
    assert (task["status"], task["result"]["content"][0]["text"]) == ("completed", "ours")


def test_an_input_resumes_the_task_by_its_chord(client: Client, ledger: Ledger, worker: Process) -> None:
    printed = len(worker.log)
    task_id = client.start("ask_two")
    client.wait_for(task_id, "input_required")
    given = {key: {"action": "accept", "content": {"value": key}} for key in ("first", "second")}
    client.update(task_id, given)
    task = client.wait_for(task_id)
    assert task["result"]["content"][0]["text"] == "first second"
    assert ledger.count(task_id, "after") == 1
    log = worker.log[printed:]
    assert log.count(f"[{task_id}.2] received") == 1  # by the chord, not a second time by the sweeper
    assert "Traceback" not in log


def test_a_cancel_ends_a_running_task(client: Client, ledger: Ledger) -> None:
    task_id = client.start("sleep")
    wait_until(lambda: ledger.count(task_id, "begun"), 10.0)
    client.cancel(task_id)
    assert client.wait_for(task_id)["status"] == "cancelled"
    wait_until(lambda: ledger.count(task_id, "cancelled"), 10.0)


def test_a_revoke_in_their_flower_ends_our_task(
    client: Client, ledger: Ledger, shop: Celery, serializer_and_pool: tuple[str, str]
) -> None:
    blockers = [client.start("sleep") for _ in range(2)]
    for blocker in blockers:
        wait_until(lambda blocker=blocker: ledger.count(blocker, "begun"), 10.0)  # type: ignore[misc]
    waiting = client.start("sleep")
    shop.control.revoke(f"{waiting}.1")
    for blocker in blockers:
        client.cancel(blocker)
    if serializer_and_pool[1] == "threads":  # Celery gives such a pool all it has, and looks at no revoke after that
        wait_until(lambda: ledger.count(waiting, "begun"), 10.0)
        client.cancel(waiting)
    assert client.wait_for(waiting)["status"] == "cancelled"
    assert ledger.count(waiting, "begun") == (serializer_and_pool[1] == "threads")


def test_a_warm_restart_goes_on_with_what_ran(
    client: Client, ledger: Ledger, platform: Platform, worker: Process, shop: Celery
) -> None:
    task_id = client.start("steps", {"count": 6, "seconds": 0.4})
    wait_until(lambda: ledger.count(task_id, "step-0"), 10.0)
    platform.restart(worker)
    assert client.wait_for(task_id)["status"] == "completed"
    assert [ledger.count(task_id, f"step-{number}") for number in range(6)] == [1] * 6
    assert _result(shop, "shop.tasks.add", 2, 2) == 4


def test_a_killed_worker_loses_nothing(client: Client, ledger: Ledger, platform: Platform, worker: Process) -> None:
    task_id = client.start("steps", {"count": 4, "seconds": 0.3})
    wait_until(lambda: ledger.count(task_id, "step-1"), 10.0, "the second step, so that the first one is kept")
    worker.kill()
    platform.begin(worker)
    assert client.wait_for(task_id, timeout=30.0)["status"] == "completed"
    assert ledger.count(task_id, "step-0") == 1


def test_nothing_of_theirs_is_changed(
    client: Client, shop: Celery, platform: Platform, serializer_and_pool: tuple[str, str]
) -> None:
    for _ in range(4):
        client.wait_for(client.start("quick"))  # a run of ours came before, in each process
    serializer, _ = serializer_and_pool
    broker = address_of(platform.valkey.url).url
    for _ in range(4):
        found = _result(shop, "shop.tasks.whereabouts")
        environment = found.pop("environment")
        assert set(environment) == {name for name in platform._env if name.startswith("COATCHECK_")}
        assert "SigtermHeeded" not in found.pop("sigterm")
        assert found == {
            "acks_late": True,
            "prefetch": 4,
            "serializer": serializer,
            "hijack": True,
            "consumer": "celery.worker.consumer:Consumer",
            "events": False,
            "default_queue": "celery",
            "broker": broker,
            "results": broker,
        }


def test_an_unknown_task_of_theirs_is_left_alone(client: Client, shop: Celery, worker: Process) -> None:
    printed = len(worker.log)
    shop.send_task("shop.tasks.gone", task_id="0" * 32 + ".1")
    worker.wait_for_line("unregistered task of type 'shop.tasks.gone'", after=printed)
    assert _result(shop, "shop.tasks.add", 1, 1) == 2


@pytest.mark.parametrize(
    ("env", "sentence"),
    [
        ({"SHOP_BROKER": "redis://127.0.0.1:1/3"}, "set CELERY_BROKER_URL to the same broker for both"),
        ({"SHOP_PREFIX": "shop:"}, "set COATCHECK_BROKER_PREFIX=shop: for both"),
        ({"COATCHECK_CONTROL_EXCHANGE": "other"}, "set COATCHECK_CONTROL_EXCHANGE=celery for both"),
        ({"SHOP_ACCEPTS": "pickle"}, "Workers of shop take no messages in JSON: add json to its accept_content"),
        ({"COATCHECK_TOOLS": "no_such_tools"}, "no_such_tools"),
        ({"COATCHECK_LEASE_SECONDS": "x"}, "COATCHECK_LEASE_SECONDS"),
    ],
)
def test_what_cannot_work_is_refused_with_one_sentence(
    redis_url: str, tmp_path: Path, env: dict[str, str], sentence: str
) -> None:
    broker = address_of(redis_url).url
    given = {
        **THEIRS,
        "REDIS_URL": redis_url,
        "SHOP_BROKER": broker,
        "COATCHECK_TOOLS": "tests.e2e.tools",
        "C_FORCE_ROOT": "true",
        "PYTHONPATH": os.pathsep.join((str(ROOT), str(PROJECT))),
        **env,
    }
    command = [sys.executable, "-m", *_command("solo")]
    worker = Process(command, name="refused", folder=tmp_path, env=given, cwd=tmp_path).start()
    assert worker.wait() == 1
    said = worker.log.partition("coatcheck cannot start:\n")[2]
    assert sentence in said
    assert len(said.strip().splitlines()) == 1


def test_what_is_no_celery_application_is_refused() -> None:
    with pytest.raises(TypeError, match="takes a Celery application, and was given str"):
        coatcheck.install("shop.celery:app")  # type: ignore[arg-type]
