"""As many streams as one process holds, and what they leave for everybody else."""

import resource
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from tests.streams.conftest import Work, polled, server_process
from tests.streams.listener import Listener, listen_request
from tests.support.client import Client
from tests.support.platform import Platform

STREAMS = 1_000

FILES = 4_096


@pytest.fixture
def enough_files() -> Iterator[None]:
    """This process may have as many connections as the test opens."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.usefixtures("enough_files")
def test_a_thousand_streams_hear_of_a_change_while_polls_are_served(
    platform: Platform, work: Work, client: Client
) -> None:
    """SUB-2, C39: on a handful of threads, one connection to the feed, and little memory."""
    process = server_process(platform)
    memory = process.memory_info().rss
    task_id = work.new()
    with ExitStack() as stack:
        streams = [
            stack.enter_context(Listener(platform.port, listen_request([task_id], id=number)))
            for number in range(STREAMS)
        ]
        for stream in streams:
            assert stream.begun().acknowledged() == [task_id]
            stream.state()
        assert process.num_threads() < 50
        assert process.memory_info().rss - memory < 50_000_000
        with platform.valkey.client() as raw:
            assert raw.pubsub_numsub("coatcheck:feed") == [(b"coatcheck:feed", 1)]
        work.run(task_id)
        assert polled(client, task_id)["statusMessage"] == "Running"
        assert httpx.get(f"http://127.0.0.1:{platform.port}/healthz").status_code == 200
        work.finish(task_id)
        for stream in streams:
            stream.until("completed")
            stream.ended()
