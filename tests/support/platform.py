"""The whole platform as real processes, each of which can be killed, paused and restarted by itself."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx

from tests.support.client import Client
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[2]

QUICK: Mapping[str, str] = {
    "COATCHECK_LEASE_SECONDS": "2",
    "COATCHECK_SWEEP_SECONDS": "0.25",
    "COATCHECK_RESEND_SECONDS": "1",
    "COATCHECK_SHUTDOWN_GRACE_SECONDS": "1",
}
"""Recovery within a second or two, so that tests of it end."""


class Platform:
    """A store that is the broker too, a front door, and any number of workers, started by the Procfile's commands.

    `env` holds for all processes; `start_web` and `start_worker` take more of it for one. They run in `cwd`, by the
    interpreter `python`.
    """

    def __init__(
        self,
        *,
        tools: str = "tests.e2e.tools",
        env: Mapping[str, str] | None = None,
        valkey: Valkey | None = None,
        cwd: Path = ROOT,
        python: str | Path = sys.executable,
    ) -> None:
        self.valkey = valkey or Valkey(appendonly="yes", appendfsync="always")
        self.folder = self.valkey.folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self.webs: list[Process] = []
        self.workers: list[Process] = []
        self._cwd = cwd
        self._python = str(python)
        self._env = {
            **QUICK,
            "REDIS_URL": self.valkey.url,
            "PORT": str(self.port),
            "WEB_CONCURRENCY": "1",
            "COATCHECK_TOOLS": tools,
            "PYTHONPATH": str(ROOT),
            **(env or {}),
        }

    def start(self, *, workers: int = 1, **worker: Any) -> Self:
        """A tool call would be answered."""
        if not self.valkey.process.is_running:
            self.valkey.start()
        self.start_web()
        for _ in range(workers):
            self.start_worker(**worker)
        self.wait_until_ready(needs_worker=workers > 0)
        return self

    def start_web(self, *, port: int | None = None, env: Mapping[str, str] | None = None) -> Process:
        """A front door runs, with the platform's port unless given another; it may not listen yet."""
        more = {"PORT": str(port or self.port), **(env or {})}
        process = self.process(f"web-{len(self.webs) + 1}", ["coatcheck", "web"], more)
        self.webs.append(process)
        return process.start()

    def start_worker(
        self,
        *,
        pool: str | None = None,
        concurrency: int = 2,
        arguments: tuple[str, ...] = (),
        env: Mapping[str, str] | None = None,
    ) -> Process:
        """A worker takes messages; without `pool`, with the pool that the Procfile's command leads to."""
        name = f"worker-{len(self.workers) + 1}"
        command = ["coatcheck", "worker", "--hostname", f"{name}@%h"]
        command += ["--concurrency", str(concurrency), *(["--pool", pool] if pool else []), *arguments]
        process = self.process(name, command, env or {})
        self.workers.append(process)
        self.begin(process)
        return process

    def begin(self, process: Process) -> None:
        """A worker that had ended, or was never started, takes messages."""
        printed = len(process.log)
        process.start()
        process.wait_for_line(" ready.", 30.0, after=printed)

    def restart(self, worker: Process) -> None:
        """The worker was asked to end, did, and takes messages again."""
        worker.stop()
        self.begin(worker)

    def restart_web(self, web: Process) -> None:
        """The front door was asked to end, did, and answers again."""
        web.stop()
        web.start()
        self.wait_until_ready(needs_worker=False)

    def wait_until_ready(self, *, needs_worker: bool = True, timeout: float = 30.0) -> None:
        """The front door answers; with `needs_worker`, a call would be worked on too."""
        path = "readyz" if needs_worker else "healthz"
        address = f"http://127.0.0.1:{self.port}/{path}"

        def answers() -> bool:
            for web in self.webs:
                assert web.is_running, f"{web.name} exited:\n{web.log[-4000:]}"
            try:
                return httpx.get(address, timeout=5.0, trust_env=False).status_code == 200
            except httpx.TransportError:
                return False

        wait_until(answers, timeout, f"200 of /{path}")

    def client(self, **options: Any) -> Client:
        """A client of the platform's front door."""
        return Client(self.url, **options)

    def logs(self) -> str:
        """The end of what every process has printed."""
        everyone = [*self.webs, *self.workers]
        return "\n".join(f"--- {process.name}\n{process.log[-4000:]}" for process in everyone)

    def close(self) -> None:
        """Nothing is left of the platform."""
        for process in (*self.workers, *self.webs):
            process.kill()
        self.valkey.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def process(
        self, name: str, command: list[str], env: Mapping[str, str], *, pass_fds: Sequence[int] = ()
    ) -> Process:
        """Another process of the platform, not started: `python -m` this command, with the platform's settings."""
        python = [self._python, "-m", *command]
        return Process(
            python, name=name, folder=self.folder, env={**self._env, **env}, cwd=self._cwd, pass_fds=pass_fds
        )
