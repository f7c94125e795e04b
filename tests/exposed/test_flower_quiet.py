"""Flower says nothing of what is as it should be."""

import httpx

from tests.exposed.flower import is_up, shipped
from tests.support.platform import Platform
from tests.support.ports import free_port
from tests.support.waiting import wait_until


def test_flower_warns_of_no_worker_that_has_only_not_started_yet() -> None:
    """K5.12: with `make run` it did four times after each `ready`."""
    port = free_port()
    with (
        Platform(env={"FLOWER_INSPECT_TIMEOUT": "200"}).start(workers=0) as platform,
        platform.process("flower", [*shipped(), f"--port={port}"], {}) as flower,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30.0) as anybody,
    ):
        wait_until(lambda: is_up(anybody), 30.0, f"an answer of Flower, which printed {flower.log}")
        anybody.get("/workers?refresh=1").raise_for_status()  # which looks for workers, and waits for the end of it
        assert "Connected to" in flower.log
        assert [line for line in flower.log.splitlines() if line.startswith("[W ")] == []
