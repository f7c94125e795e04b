"""`make run` in a copy of the checkout, as somebody who has just cloned it types it."""

import os
import shutil
import signal
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import psutil

from tests.support.client import Client
from tests.support.platform import ROOT
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.waiting import wait_until

NEEDED = ("Makefile", "Procfile", "client", "coatcheck", "launch", "tasks_store", "web", "workers")
"""All that `make run` reads of a checkout whose environment is installed."""


class Checkout:
    """A copy of the checkout in a folder of its own, and the `make run` in it.

    The environment is the one of the tests: what `make` installs is not installed again.
    """

    def __init__(self, folder: Path, *, env: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.port, self.flower_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.flower_url = f"http://127.0.0.1:{self.flower_port}"
        self._mark = uuid.uuid4().hex
        for name in NEEDED:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name, symlinks=True)
            else:
                shutil.copy(ROOT / name, folder / name)
        (folder / ".venv").symlink_to(sys.prefix)
        self.process = Process(
            ["make", "--old-file=.venv/run.stamp", "run"],
            name="make-run",
            folder=folder,
            cwd=folder,
            env={
                "PORT": str(self.port),
                "FLOWER_PORT": str(self.flower_port),
                "REDIS_URL": "",
                "CHECKOUT_MARK": self._mark,
                **(env or {}),
            },
        )

    def start(self) -> None:
        """`make run` has said that it is ready."""
        printed = len(self.process.log)
        self.process.start()
        self.process.wait_for_line("\nready\n", 60.0, after=printed)

    def interrupt(self) -> None:
        """Somebody has pressed Ctrl-C: a terminal signals its whole foreground group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def client(self) -> Client:
        """A client of the front door."""
        return Client(self.url)

    @contextmanager
    def paused_worker(self) -> Iterator[None]:
        """The worker and its pool stand still until the block ends."""
        worker = next(pid for pid, command in self.processes().items() if "-A coatcheck.workers worker" in command)
        group = os.getpgid(worker)
        os.killpg(group, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(group, signal.SIGCONT)

    def processes(self) -> dict[int, str]:
        """The command line of every living process that descends from this `make run`, by its id."""
        found = {}
        for process in psutil.process_iter():
            try:
                if process.environ().get("CHECKOUT_MARK") == self._mark and process.status() != psutil.STATUS_ZOMBIE:
                    found[process.pid] = " ".join(process.cmdline())
            except psutil.Error:
                continue
        return found

    def close(self) -> None:
        """Nothing is left of it."""
        self.process.kill()
        wait_until(lambda: not self.processes(), what=f"the end of {self.processes()}")
