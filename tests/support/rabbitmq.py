"""A real RabbitMQ of the test's own, where Debian's package of it is installed."""

import os
import socket
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.needs import program_of
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.waiting import wait_until

START_SECONDS = 60.0


class RabbitMQ:
    """One node with a port mapper of its own, in a temporary folder."""

    def __init__(self) -> None:
        # What Debian's wrapper in /usr/sbin starts, which insists on an account and on folders of its own.
        server = program_of("rabbitmq-server")
        self._temporary = tempfile.TemporaryDirectory(prefix="coatcheck-rabbitmq-", ignore_cleanup_errors=True)
        folder = Path(self._temporary.name)
        self.port, between_nodes, self._mapper_port = free_port(), free_port(), free_port()
        self.url = f"amqp://guest:guest@127.0.0.1:{self.port}//"
        env = {
            "HOME": str(folder),  # of the secret that nodes share
            "ERL_EPMD_PORT": str(self._mapper_port),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"coatcheck-{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(between_nodes),
            "RABBITMQ_MNESIA_BASE": str(folder),
            "RABBITMQ_LOG_BASE": str(folder),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_PID_FILE": str(folder / "pid"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
            "RABBITMQ_CONF_ENV_FILE": os.devnull,
        }
        self.process = Process([server], name="rabbitmq", folder=folder, env=env)

    def start(self) -> Self:
        """It takes connections."""
        printed = len(self.process.log)
        self.process.start()
        self.process.wait_for_line("Server startup complete", START_SECONDS, after=printed)
        return self

    def stop(self) -> None:
        """It has shut down in good order. Killed, this version forgets a quorum queue of the last few seconds."""
        self.process.stop(START_SECONDS)

    def close(self) -> None:
        """Nothing is left of it, nor of its port mapper, which outlives it and goes only once it has noticed."""
        self.process.kill()
        wait_until(self._mapper_is_gone, what="the end of the port mapper")
        self._temporary.cleanup()

    def _mapper_is_gone(self) -> bool:
        mapper = ["epmd", "-port", str(self._mapper_port), "-kill"]
        subprocess.run(mapper, check=False, capture_output=True)
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._mapper_port)) != 0

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
