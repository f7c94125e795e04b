"""A worker, or a process of its pool, is killed, stopped or stands still while it works."""

import os
import signal
from collections.abc import Iterator

import psutil
import pytest

from coatcheck.tasks_store import NextRun, StoreSettings
from coatcheck.workers.messages.dispatcher import Dispatcher
from coatcheck.workers.settings import WorkerSettings
from coatcheck.workers.toolkit.tool import Catalogue
from tests.e2e.ledger import Ledger
from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.processes import Process
from tests.support.waiting import wait_until

STEPS = ["quick", "slow"]


@pytest.fixture(scope="module")
def platform(bare_platform: Platform) -> Platform:
    """A platform with two workers of one process each; every test leaves both running."""
    bare_platform.start_worker(concurrency=1)
    bare_platform.start_worker(concurrency=1)
    return bare_platform


@pytest.fixture
def dispatcher(platform: Platform) -> Iterator[Dispatcher]:
    """What sends messages to this platform's workers."""
    url = platform.valkey.url
    dispatcher = Dispatcher(WorkerSettings(broker_url=url, result_backend=url), StoreSettings(url), Catalogue([]))
    yield dispatcher
    dispatcher.close()


def pid_of(ledger: Ledger, task_id: str, what: str) -> int:
    """The process that noted this, as soon as it did."""
    wait_until(lambda: ledger.count(task_id, what), 20.0, f"{what} of {task_id}")
    return ledger.pid(task_id, what)


def worker_of(platform: Platform, pid: int) -> Process:
    """The worker whose pool this process belongs to."""
    parent = psutil.Process(pid).ppid()
    return next(worker for worker in platform.workers if worker.pid == parent)


def terminate_all(worker: Process) -> None:
    """The worker and every process of its pool have been sent a SIGTERM, the pool first."""
    main = psutil.Process(worker.pid)
    for process in (*main.children(), main):
        process.terminate()


def begun(ledger: Ledger, task_id: str) -> list[tuple[str, int]]:
    """Which steps began in which run, in order."""
    return [(what.removesuffix(" begun"), run) for what, run in ledger.entries(task_id) if what.endswith(" begun")]


def test_a_job_whose_process_is_killed_goes_on_from_its_last_step(client: Client, ledger: Ledger) -> None:
    """C4: the killed process takes neither its message nor the steps it had finished with it."""
    task_id = client.start("two_steps")
    os.kill(pid_of(ledger, task_id, "slow begun"), signal.SIGKILL)
    assert client.wait_for(task_id)["result"]["structuredContent"] == STEPS
    assert begun(ledger, task_id) == [("quick", 1), ("slow", 1), ("slow", 2)]


def test_a_job_whose_worker_is_killed_goes_on_elsewhere(client: Client, platform: Platform, ledger: Ledger) -> None:
    """C4: long before the broker would deliver its message again, which is an hour later."""
    task_id = client.start("two_steps")
    worker = worker_of(platform, pid_of(ledger, task_id, "slow begun"))
    worker.kill()
    assert client.wait_for(task_id)["result"]["structuredContent"] == STEPS
    assert begun(ledger, task_id) == [("quick", 1), ("slow", 1), ("slow", 2)]
    platform.begin(worker)


def test_a_message_that_is_delivered_again_beside_a_live_run_does_nothing(
    client: Client, ledger: Ledger, dispatcher: Dispatcher
) -> None:
    """C1, C29: as after a visibility timeout, while the lease is renewed again and again."""
    task_id = client.start("two_steps", {"seconds": 3.0})
    pid_of(ledger, task_id, "slow begun")
    seen = [client.get(task_id).result["lastUpdatedAt"]]
    for _ in range(5):
        dispatcher.send_run(NextRun(task_id, "two_steps", 1))
        seen.append(client.get(task_id).result["lastUpdatedAt"])
    task = client.wait_for(task_id)
    assert task["result"]["structuredContent"] == STEPS
    assert begun(ledger, task_id) == [("quick", 1), ("slow", 1)]
    assert [*seen, task["lastUpdatedAt"]] == sorted([*seen, task["lastUpdatedAt"]])

    dispatcher.send_run(NextRun(task_id, "two_steps", 1))
    assert client.wait_for(client.start("quick"))["status"] == "completed"
    assert client.get(task_id).result == task


def test_a_process_that_wakes_up_after_its_lease_was_taken_over_writes_nothing(
    client: Client, platform: Platform, ledger: Ledger
) -> None:
    """C29"""
    task_id = client.start("steps", {"count": 2, "seconds": 0.5})
    sleeper = pid_of(ledger, task_id, "step-0-begun")
    worker = worker_of(platform, sleeper)
    os.kill(sleeper, signal.SIGSTOP)
    wait_until(lambda: ledger.pid(task_id, "step-0-begun") != sleeper, 20.0, "the takeover")
    os.kill(sleeper, signal.SIGCONT)
    worker.wait_for_line(f"task {task_id} tool steps run 1 was superseded")
    task = client.wait_for(task_id)
    assert task["result"]["structuredContent"] == [0, 1]
    runs = [run for what, run in ledger.entries(task_id) if what == "step-1"]
    assert runs == [2]


def test_a_worker_that_is_asked_to_stop_finishes_what_is_short_and_hands_back_what_is_long(
    client: Client, platform: Platform, ledger: Ledger
) -> None:
    """C8: and another worker goes on."""
    long_one, short_one = client.start("sleep"), client.start("two_steps", {"seconds": 0.8})
    long_worker = worker_of(platform, pid_of(ledger, long_one, "begun"))
    short_worker = worker_of(platform, pid_of(ledger, short_one, "slow begun"))
    assert long_worker is not short_worker
    assert short_worker.stop() == 0
    assert client.wait_for(short_one)["result"]["structuredContent"] == STEPS
    assert begun(ledger, short_one) == [("quick", 1), ("slow", 1)]
    platform.begin(short_worker)

    assert long_worker.stop() == 0
    wait_until(lambda: ("begun", 2) in ledger.entries(long_one), 20.0, "the next run")
    assert long_worker.log.count(f"task {long_one} tool sleep run 1 handed back") == 1
    client.cancel(long_one)
    assert client.wait_for(long_one)["status"] == "cancelled"
    platform.begin(long_worker)


def test_a_sigterm_to_every_process_at_once_loses_nothing(client: Client, platform: Platform, ledger: Ledger) -> None:
    """C7: as platforms do that know no parent and no child, and kill what is left after a while."""
    short_one = client.start("two_steps", {"seconds": 2.0})
    worker = worker_of(platform, pid_of(ledger, short_one, "slow begun"))
    terminate_all(worker)
    assert client.wait_for(short_one)["result"]["structuredContent"] == STEPS
    assert begun(ledger, short_one) == [("quick", 1), ("slow", 1)]
    assert worker.wait() == 0
    platform.begin(worker)

    long_one = client.start("two_steps")
    worker = worker_of(platform, pid_of(ledger, long_one, "slow begun"))
    terminate_all(worker)
    worker.wait_for_line("Warm shutdown")
    worker.kill()
    assert client.wait_for(long_one)["result"]["structuredContent"] == STEPS
    assert begun(ledger, long_one) == [("quick", 1), ("slow", 1), ("slow", 2)]
    platform.begin(worker)


def test_a_pool_process_that_alone_is_asked_to_end_does(client: Client, platform: Platform, ledger: Ledger) -> None:
    """And what it ran goes on elsewhere; the signal is never taken for a fault of the tool."""
    task_id = client.start("two_steps")
    process = psutil.Process(pid_of(ledger, task_id, "slow begun"))
    process.terminate()
    assert client.wait_for(task_id)["result"]["structuredContent"] == STEPS
    assert begun(ledger, task_id) == [("quick", 1), ("slow", 1), ("slow", 2)]
    wait_until(lambda: not process.is_running())


def test_a_job_that_kills_every_process_is_failed_after_the_last_run(
    client: Client, platform: Platform, ledger: Ledger
) -> None:
    """C86: a poison job cannot go round for ever, and the workers go on."""
    task_id = client.start("leave")
    task = client.wait_for(task_id, timeout=30.0)
    assert (task["status"], task["error"]["code"]) == ("failed", -32603)
    assert "worker was lost" in task["statusMessage"]
    assert [run for _, run in ledger.entries(task_id)] == [1, 2, 3]
    assert client.wait_for(client.start("quick"))["status"] == "completed"
