"""Redis behind Sentinel, as store, broker and result backend of both sides."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.ledger import LEDGER, Ledger
from tests.exposed.conftest import SOON
from tests.support.platform import Platform
from tests.support.ports import free_port
from tests.support.sentinel import Sentinel
from tests.support.valkey import Valkey


@pytest.fixture
def sentinel() -> Iterator[tuple[Valkey, str]]:
    """A server that Sentinel watches, and the address that leads to it."""
    with Valkey(port=free_port()) as server, Sentinel(server) as sentinel:
        yield server, sentinel.url


def test_one_address_is_enough_for_store_broker_and_results(sentinel: tuple[Valkey, str], tmp_path: Path) -> None:
    server, url = sentinel
    ledger = Ledger(tmp_path / "ledger.sqlite")
    env = {**SOON, "REDIS_URL": url, LEDGER: str(ledger.path)}
    with (
        Platform(tools="tests.e2e.tools,tests.exposed.tools", env=env, valkey=server).start() as platform,
        platform.client() as client,
    ):
        task_id = client.start("ask_two")
        client.wait_for(task_id, "input_required")
        client.update(task_id, {key: {"action": "decline"} for key in ("first", "second")})
        assert client.wait_for(task_id)["status"] == "completed"
        exposed = client.start("odd.unheard")
        client.cancel(exposed)
        assert client.wait_for(exposed, timeout=30.0)["status"] == "cancelled"
