"""Processes that share nothing, and a server with few connections to give."""

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from redis import Redis, exceptions

from tests.e2e.ledger import LEDGER, Ledger
from tests.recovery.conftest import TOOLS
from tests.support.client import Client
from tests.support.platform import ROOT, Platform
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until

CALLERS = 16
"""How many clients ask at the same time."""


@pytest.fixture(scope="module")
def platform(bare_platform: Platform) -> Platform:
    """A platform with one worker."""
    bare_platform.start_worker()
    return bare_platform


def test_processes_that_are_forked_from_a_loaded_application_never_mix_up_their_answers(
    platform: Platform, client: Client
) -> None:
    """C24: `gunicorn --preload`, four processes, five hundred questions at once."""
    tasks = [client.start("quick", {"text": f"text-{number}"}) for number in range(50)]
    for task_id in tasks:
        client.wait_for(task_id)
    port = free_port()
    preloaded = platform.start_web(port=port, env={"GUNICORN_CMD_ARGS": "--preload", "WEB_CONCURRENCY": "4"})
    url = f"http://127.0.0.1:{port}/mcp"
    with Client(url) as first:
        wait_until(lambda: preloaded.log.count("Booting worker") == 4, 20.0, "four processes")
        wait_until(lambda: answers(first), 20.0, "the preloaded front door")

    def look(first: int) -> None:
        with Client(url) as own:
            for number in range(first, 500, CALLERS):
                task = own.get(tasks[number % 50]).result
                text = task["result"]["content"][0]["text"]
                assert (task["taskId"], text) == (tasks[number % 50], f"text-{number % 50}")

    with ThreadPoolExecutor(CALLERS) as threads:
        list(threads.map(look, range(CALLERS)))
    preloaded.kill()
    platform.webs.remove(preloaded)


def answers(client: Client) -> bool:
    """The front door serves a request."""
    try:
        return client.discover().status == 200
    except OSError:
        return False


HAMMER = """
import os, threading
from coatcheck.tasks_store import ANONYMOUS, NewTask, Patience, StoreSettings, TaskStore
import sys
store = TaskStore(StoreSettings(redis_url=sys.argv[1]), Patience.WORKER)
task, _ = store.create(NewTask(ANONYMOUS, "tool", b"{}", ttl_ms=60_000))
over = threading.Event()
def hammer():
    while not over.is_set():
        store.get(ANONYMOUS, task.task_id)
threads = [threading.Thread(target=hammer) for _ in range(4)]
for thread in threads:
    thread.start()
for _ in range(100):
    child = os.fork()
    if child == 0:
        store.get(ANONYMOUS, task.task_id)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
over.set()
print("done")
"""
"""A hundred forks while other threads of the parent are in the middle of commands."""


def test_a_process_that_is_forked_in_the_middle_of_a_command_does_not_inherit_a_lock(
    platform: Platform, client: Client
) -> None:
    """C24: what a pool process would wait for, for ever, beside a worker's sweeper."""
    command = [sys.executable, "-W", "ignore", "-c", HAMMER, platform.valkey.url]
    with Process(command, name="hammer", folder=platform.folder, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}) as hammer:
        assert hammer.wait(40.0) == 0, hammer.log


@pytest.fixture
def small(ledger: Ledger) -> Iterator[Platform]:
    """A platform over a server that gives thirty connections, as small plans do."""
    valkey = Valkey(maxclients="30", appendonly="yes", appendfsync="always")
    env = {LEDGER: str(ledger.path), "COATCHECK_THREADS": "8", "WEB_CONCURRENCY": "2"}
    with Platform(tools=TOOLS, env=env, valkey=valkey) as platform:
        yield platform.start(concurrency=4)


def test_a_server_without_a_connection_to_spare_is_told_as_a_store_that_is_away(small: Platform) -> None:
    """C26: a clean refusal, no crash; and all is well once there are connections again."""
    with small.client() as client:
        assert client.wait_for(client.start("quick"))["status"] == "completed"
        hogs = [small.valkey.client() for _ in range(30)]
        held = [hog for hog in hogs if holds(hog)]
        assert held

        def call(_: int) -> int:
            with small.client() as own:
                return own.call("quick").status

        with ThreadPoolExecutor(12) as threads:
            assert set(threads.map(call, range(24))) <= {200, 503}
        for hog in hogs:
            hog.close()
        wait_until(lambda: client.call("quick").status == 200, 10.0, "an answer")
        assert client.wait_for(client.start("quick"), timeout=30.0)["status"] == "completed"
        assert [process.is_running for process in (*small.webs, *small.workers)] == [True, True]


def holds(client: Redis) -> bool:
    """The client got one of the server's connections, and keeps it."""
    try:
        return bool(client.ping())
    except exceptions.ConnectionError:
        return False
