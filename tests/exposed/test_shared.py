"""A cluster that others use too: nothing of theirs is touched, and our names are our own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.exposed.conftest import SOON
from tests.exposed.theirs import celery_url, odd_worker
from tests.support.platform import Platform
from tests.support.waiting import wait_until


@pytest.fixture
def platform() -> Iterator[Platform]:
    """A platform whose store is everybody's broker."""
    with Platform(tools="tests.exposed.tools", env=SOON) as platform:
        yield platform.start()


def test_on_a_shared_redis_each_side_keeps_to_its_own_names(platform: Platform, odd_folder: Path) -> None:
    url = celery_url(platform.valkey.url)
    foreign = {"odd-later": b"a message of theirs", "celery": b"one in the queue that ours would have by default"}
    with platform.valkey.client() as raw, platform.client() as client:
        for queue, message in foreign.items():
            raw.rpush(queue, message)
        worker = odd_worker(odd_folder, broker=url, results=url)
        worker.start()
        try:
            task_id = client.start("odd.say")
            client.wait_for(task_id)
            cancelled = client.start("odd.unheard")
            wait_until(lambda: raw.exists("a-queue-that-nobody-reads"), what="the message")
            client.cancel(cancelled)
            client.wait_for(cancelled)
        finally:
            worker.stop()
        for queue, message in foreign.items():
            assert raw.lrange(queue, 0, -1) == [message]
        names = {name.decode() for name in raw.scan_iter()}
    theirs = {name for name in names if not name.startswith("coatcheck:")}
    results = {name for name in theirs if name.startswith("celery-task-meta-")}
    assert len(results) == 3  # of the two calls, and the mark that one was cancelled
    bindings = {name for name in theirs if name.startswith("_kombu.binding")}
    assert theirs - results - bindings == {*foreign, "a-queue-that-nobody-reads"}
    assert not [name for name in bindings if "coatcheck" in name]
    assert "Task odd" not in platform.workers[0].log
