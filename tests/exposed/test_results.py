"""Results that are not as they should be, on platforms of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from coatcheck.workers.messages.other_application import message_id_of
from tests.exposed.conftest import SOON
from tests.exposed.theirs import TheirWorker, celery_url, odd_worker
from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until


@pytest.fixture(scope="module")
def theirs() -> Iterator[Valkey]:
    """Their own Redis, which is their broker and keeps their results."""
    with Valkey() as server:
        yield server


@pytest.fixture(scope="module")
def platform(theirs: Valkey) -> Iterator[Platform]:
    """A platform whose store and broker are not those of the other application."""
    url = celery_url(theirs.url)
    env = {**SOON, "COATCHECK_EXPOSE_BROKER_URL": url, "COATCHECK_EXPOSE_RESULT_BACKEND": url}
    with Platform(tools="tests.exposed.tools", env=env) as platform:
        yield platform.start()


@pytest.fixture(autouse=True)
def empty(theirs: Valkey) -> None:
    """No test finds another's messages or results."""
    with theirs.client() as raw:
        raw.flushall()


@pytest.fixture
def odd(theirs: Valkey, odd_folder: Path) -> Iterator[TheirWorker]:
    """A worker of the odd application that was not started yet."""
    url = celery_url(theirs.url)
    worker = odd_worker(odd_folder, broker=url, results=url)
    yield worker
    worker.close()


@pytest.fixture
def elsewhere() -> Iterator[Valkey]:
    """A server that nobody of ours knows."""
    with Valkey() as server:
        yield server


@pytest.mark.parametrize("results", ["off", "elsewhere"])
def test_work_whose_result_is_elsewhere_is_not_told_as_failed(
    client: Client, platform: Platform, theirs: Valkey, elsewhere: Valkey, odd_folder: Path, results: str
) -> None:
    """K3.5: but as what it is, at the end of the call and by the check."""
    where = "disabled://" if results == "off" else celery_url(elsewhere.url)
    worker = odd_worker(odd_folder, broker=celery_url(theirs.url), results=where)
    worker.start()
    try:
        task = client.wait_for(client.start("odd.say"), timeout=30.0)
        assert worker.has_run("said hello")
        check = platform.process(f"check-{results}", ["coatcheck.web.operations.check"], {}).start()
        assert check.wait(60.0) == 1
    finally:
        worker.close()
    assert (task["status"], task["result"]["isError"]) == ("completed", True)
    text = task["result"]["content"][0]["text"]
    assert "may well be done" in text
    assert "odd@" in text
    [line] = [line for line in check.log.splitlines() if line.startswith("wrong exposed")]
    assert "odd@" in line


def test_what_their_workers_do_not_know_or_hear_is_told_by_the_check(platform: Platform, odd: TheirWorker) -> None:
    """K3.5."""
    odd.start()
    check = platform.process("check-names", ["coatcheck.web.operations.check"], {}).start()
    assert check.wait(60.0) == 1
    [line] = [line for line in check.log.splitlines() if line.startswith("wrong exposed")]
    assert "knows no Celery task odd.nobody_knows_it" in line
    assert "none of their workers listens to the queue shop, which shop.tasks.quote is sent to" in line
    assert "results" not in line


def test_a_pickled_result_is_refused_and_never_loaded(client: Client, theirs: Valkey, odd_folder: Path) -> None:
    url = celery_url(theirs.url)
    worker = odd_worker(odd_folder, broker=url, results=url, RESULT_SERIALIZER="pickle", C_FORCE_ROOT="1")
    worker.start()
    try:
        task = client.wait_for(client.start("odd.say"), timeout=30.0)
    finally:
        worker.close()
    assert task["status"] == "failed"
    assert "cannot be read" in task["error"]["message"]


@pytest.mark.parametrize(
    "stored",
    [b"not json", b"[]", b'"text"', b'{"status": 7}', b"{}", b'{"result": 1}', b"\xff\xfe", b"[" * 100_000],
    ids=lambda stored: str(stored[:16]),
)
def test_a_result_that_cannot_be_read_ends_its_task_alone(
    client: Client, theirs: Valkey, odd: TheirWorker, stored: bytes
) -> None:
    """The others of the same batch are looked at as if nothing were."""
    spoilt = [client.start("odd.unheard") for _ in range(3)]
    healthy = [client.start("odd.say", {"text": str(number)}) for number in range(3)]
    with theirs.client() as raw:
        wait_until(lambda: raw.llen("a-queue-that-nobody-reads") == 3 and raw.llen("odd") == 3, what="the messages")
        for task_id in spoilt:
            raw.set(f"celery-task-meta-{message_id_of(task_id)}", stored)
    for task_id in spoilt:
        task = client.wait_for(task_id)
        assert task["status"] == "failed"
        assert "cannot be read" in task["error"]["message"]
    odd.start()
    for task_id in healthy:
        # Held for its bad neighbours, a look would come 15 seconds late.
        assert client.wait_for(task_id, timeout=14.0)["status"] == "completed"


def test_a_result_that_expired_before_anybody_looked_ends_the_task(
    client: Client, platform: Platform, theirs: Valkey, odd: TheirWorker
) -> None:
    task_id = client.start("odd.say")
    key = f"celery-task-meta-{message_id_of(task_id)}"
    with theirs.client() as raw:
        wait_until(lambda: raw.llen("odd") == 1, what="the message")
        platform.workers[0].pause()
        try:
            odd.start()
            wait_until(lambda: raw.exists(key), what="the result")
            raw.delete(key)
        finally:
            platform.workers[0].resume()
    task = client.wait_for(task_id, timeout=30.0)
    assert task["status"] == "failed"
    assert "left no result" in task["error"]["message"]


def test_an_outage_of_their_servers_alone_is_waited_for(
    client: Client, platform: Platform, theirs: Valkey, odd: TheirWorker
) -> None:
    theirs.kill()
    task_id = client.start("odd.say")
    away = "The broker of this tool's worker does not answer; it is tried again"
    wait_until(lambda: client.get(task_id).result["statusMessage"] == away, what="the message")
    assert client.get(task_id).result["status"] == "working"
    theirs.start()
    odd.start()
    assert client.wait_for(task_id, timeout=30.0)["status"] == "completed"


def test_an_outage_of_their_servers_during_the_work_is_waited_for(
    client: Client, theirs: Valkey, odd: TheirWorker
) -> None:
    task_id = client.start("odd.say")
    with theirs.client() as raw:
        wait_until(lambda: raw.llen("odd") == 1, what="the message")
        saved = raw.dump("odd")
        assert isinstance(saved, bytes)
    theirs.kill()
    theirs.start()
    with theirs.client() as raw:
        raw.restore("odd", 0, saved, replace=True)
    odd.start()
    assert client.wait_for(task_id, timeout=40.0)["status"] == "completed"


def test_an_outage_of_our_store_alone_is_waited_for(client: Client, platform: Platform, odd: TheirWorker) -> None:
    odd.start()
    task_id = client.start("odd.sleep", {"seconds": 1, "note": "outage"})
    wait_until(lambda: odd.has_run("begun outage"), what="its start")
    platform.valkey.kill()
    wait_until(lambda: odd.has_run("slept outage"), what="its end")
    platform.valkey.start()
    assert client.wait_for(task_id, timeout=30.0)["status"] == "completed"


def test_a_run_that_dies_after_the_hand_over_does_not_hand_over_finished_work_again(
    client: Client, platform: Platform, odd: TheirWorker
) -> None:
    platform.workers[0].stop()
    doomed = platform.start_worker(concurrency=1, env={"COATCHECK_FAULTS": "delegated=kill"})
    odd.start()
    task_id = client.start("odd.say", {"text": "only once"})
    wait_until(lambda: odd.has_run("said only once"), what="the work")
    doomed.kill()
    platform.begin(platform.workers[0])
    assert client.wait_for(task_id, timeout=30.0)["status"] == "completed"
    assert odd.process.log.count("said only once") == 1
