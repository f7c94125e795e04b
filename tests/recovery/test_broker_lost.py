"""The broker goes and comes back by itself, while the store stays."""

import pytest

from tests.e2e.ledger import LEDGER, Ledger
from tests.support.platform import Platform
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until


@pytest.mark.parametrize("way", ["restart", "cut"])
def test_a_process_that_was_at_work_when_the_broker_went_is_given_nothing_else(ledger: Ledger, way: str) -> None:
    """C18: the other process takes what comes, and nothing waits behind a long run."""
    with Valkey() as broker:
        env = {LEDGER: str(ledger.path), "CELERY_BROKER_URL": broker.url}
        with Platform(tools="tests.e2e.tools", env=env).start(concurrency=2) as platform, platform.client() as client:
            running = client.start("sleep", {"seconds": 100})
            wait_until(lambda: ledger.count(running, "begun"), what="its start")
            printed = len(platform.workers[0].log)
            if way == "restart":
                broker.restart()
            else:
                with broker.client() as raw:
                    raw.client_kill_filter(_type="normal", skipme=True)
            platform.workers[0].wait_for_line("Connected to", 30.0, after=printed)
            for _ in range(4):
                assert client.wait_for(client.start("quick"), timeout=30.0)["status"] == "completed"
            assert client.get(running).result["status"] == "working"
            client.cancel(running)
            assert client.wait_for(running)["status"] == "cancelled"
            assert ledger.count(running, "begun") == 1
