"""Flower says nothing of what is as it should be."""

import re

from tests.exposed.flower import shipped
from tests.support.platform import Platform
from tests.support.ports import free_port
from tests.support.waiting import wait_until


def test_flower_warns_of_no_worker_that_has_only_not_started_yet() -> None:
    """K5.12: with `make run` it did four times after each `ready`."""
    with (
        Platform().start(workers=0) as platform,
        platform.process("flower", [*shipped(), f"--port={free_port()}", "--logging=debug"], {}) as flower,
    ):
        looks = re.compile(r"Inspect command \w+ took .* to complete")
        wait_until(lambda: len(looks.findall(flower.log)) >= 4, 30.0, "Flower's looks for workers")
        assert "Connected to" in flower.log
        assert [line for line in flower.log.splitlines() if line.startswith("[W ")] == []
