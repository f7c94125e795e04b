"""Exposed tasks over a server that has few connections to give."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from redis import Redis, exceptions

from coatcheck.workers.messages.other_application import message_id_of
from tests.exposed.conftest import SOON
from tests.exposed.theirs import TheirWorker, celery_url, odd_worker
from tests.support.platform import Platform
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until

STREAMS = 20


@pytest.fixture
def platform() -> Iterator[Platform]:
    """Two web processes and four places for work, on a server that everybody shares, as those of small plans are."""
    valkey = Valkey(maxclients="60", appendonly="yes", appendfsync="always")
    env = {**SOON, "COATCHECK_REDIS_CONNECTIONS": "4", "WEB_CONCURRENCY": "2"}
    with Platform(tools="tests.exposed.tools", env=env, valkey=valkey) as platform:
        yield platform.start(concurrency=4)


@pytest.fixture
def odd(platform: Platform, odd_folder: Path) -> Iterator[TheirWorker]:
    """Their worker, on the same server."""
    url = celery_url(platform.valkey.url)
    worker = odd_worker(odd_folder, broker=url, results=url)
    worker.start()
    yield worker
    worker.close()


def test_exposed_work_and_its_streams_are_refused_cleanly_and_go_on_once_there_are_connections(
    platform: Platform, odd: TheirWorker
) -> None:
    """C26"""
    with ExitStack() as stack:
        client = stack.enter_context(platform.client())
        task_id = client.start("odd.shelve", {"seconds": 6})
        wait_until(lambda: odd.has_run(f"odd.shelve[{message_id_of(task_id)}] received"), what="its start")
        listeners = [stack.enter_context(platform.client()) for _ in range(STREAMS)]
        streams = [stack.enter_context(listener.listen(task_id)) for listener in listeners]
        hogs = [platform.valkey.client() for _ in range(60)]
        assert [hog for hog in hogs if _holds(hog)]

        def call(_: int) -> int:
            with platform.client() as own:
                return own.call("odd.say").status

        with ThreadPoolExecutor(8) as threads:
            assert set(threads.map(call, range(16))) <= {200, 503}
        for hog in hogs:
            hog.close()
        wait_until(lambda: client.call("odd.say").status == 200, 10.0, "an answer")
        assert client.wait_for(task_id, timeout=40.0)["status"] == "completed"
        assert client.wait_for(client.start("odd.say"), timeout=40.0)["status"] == "completed"
        for messages in streams:
            told = [message["params"] for message in messages if message.get("method") == "notifications/tasks"]
            assert told[-1]["status"] == "completed"
        assert [process.is_running for process in (*platform.webs, *platform.workers)] == [True, True]


def _holds(client: Redis) -> bool:
    """The client got one of the server's connections, and keeps it."""
    try:
        return bool(client.ping())
    except exceptions.ConnectionError:
        return False
