"""The three sides that are measured: how their servers start, stand still and end."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from bench import wire
from bench.load import RequestFailed, ask
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until

ROOT = Path(__file__).parents[1]
PEER_SERVER = Path(__file__).with_name("peer_server.py")

WEB_PROCESSES = 2
JOB_PROCESSES = 2
"""As many as the machine has cores, on every side."""

PEER_CONCURRENCY = 50
"""Tasks that one worker of the peer works on at a time; with its default of 10 it works off a backlog more slowly."""

COATCHECK = "Coatcheck"
BARE = "bare"
PEER = "fastmcp-tasks"


@dataclass
class Side:
    """The processes of one side. `queue` is the Redis key that is gone when no message waits."""

    name: str
    queue: str
    port: int
    folder: Path
    env: Mapping[str, str]
    web_command: list[str]
    worker_commands: list[list[str]]
    worker_is_ready: str
    """What a worker prints when it takes messages."""
    probe: bytes
    """A request that is answered once the web processes are up."""
    webs: list[Process] = field(default_factory=list)
    workers: list[Process] = field(default_factory=list)

    @property
    def processes(self) -> list[Process]:
        """All that runs, by its first process."""
        return [*self.webs, *self.workers]

    def start_web(self) -> None:
        """The front door answers."""
        self.webs.append(self._process("web", self.web_command).start())
        self.wait_for_answer()

    def wait_for_answer(self) -> None:
        """Wait until a web process answers."""
        (web,) = self.webs

        def answers() -> bool:
            assert web.is_running, f"{self.name} exited:\n{web.log[-4000:]}"
            with suppress(OSError, RequestFailed):
                ask(self.port, self.probe)
                return True
            return False

        wait_until(answers, 60.0, f"the web processes of {self.name}, which printed:\n{web.log[-4000:]}")

    def start_workers(self) -> None:
        """Workers take messages."""
        for number, command in enumerate(self.worker_commands):
            worker = self._process(f"worker-{number}", command)
            printed = len(worker.log)
            self.workers.append(worker.start())
            worker.wait_for_line(self.worker_is_ready, 60.0, after=printed)

    def stop_workers(self) -> None:
        """No worker runs; what it had not finished waits."""
        for worker in self.workers:
            worker.stop()
        self.workers.clear()

    def close(self) -> None:
        """Nothing is left of this side but its records."""
        for process in self.processes:
            process.kill()
        self.webs.clear()
        self.workers.clear()

    def pause(self) -> None:
        """The side uses no processor."""
        for process in self.processes:
            process.pause()

    def resume(self) -> None:
        """The side goes on."""
        for process in self.processes:
            process.resume()

    def _process(self, name: str, command: list[str]) -> Process:
        return Process(command, name=f"{self.name}-{name}", folder=self.folder, env=self.env, cwd=ROOT)


def coatcheck(valkey: Valkey, env: Mapping[str, str] | None = None) -> Side:
    """Coatcheck by the Procfile's commands and with its shipped settings."""
    web = ["gunicorn", "--config", "web/gunicorn.conf.py", "coatcheck.web.wsgi:app"]
    return _flask_side(COATCHECK, valkey, web, "coatcheck.workers", "coatcheck", wire.HEALTH, env or {})


def bare(valkey: Valkey) -> Side:
    """Flask and Celery as they come, with as many processes of the same kind, and nothing of ours in between."""
    web = ["gunicorn", "--worker-class", "gevent", "--workers", str(WEB_PROCESSES)]
    web += ["--keep-alive", "75", "--no-control-socket"]
    return _flask_side(BARE, valkey, [*web, "bench.ceilings:web"], "bench.ceilings", "bench", wire.post("/small"), {})


def peer(valkey: Valkey, python: Path) -> Side:
    """fastmcp-tasks as fast as it was found to go: uvloop, httptools, JSON answers, workers of their own.

    The worker that each of its web processes holds is kept idle: with it at work, polls are slower.
    """
    port = free_port()
    env = {
        "FASTMCP_DOCKET_URL": f"{valkey.url}?max_connections=10000",
        "FASTMCP_DOCKET_CONCURRENCY": "0",
        "FASTMCP_LOG_LEVEL": "WARNING",
        "FASTMCP_SHOW_SERVER_BANNER": "false",
        "PYTHONPATH": str(PEER_SERVER.parent),
    }
    web = ["-m", "uvicorn", "peer_server:app", "--port", str(port), "--workers", str(WEB_PROCESSES)]
    web += ["--loop", "uvloop", "--http", "httptools", "--log-level", "warning", "--no-access-log"]
    worker = ["env", f"FASTMCP_DOCKET_CONCURRENCY={PEER_CONCURRENCY}", str(python)]
    worker += ["-c", "import peer_server; peer_server.work()"]
    return Side(
        name=PEER,
        queue="fastmcp:stream",
        port=port,
        folder=valkey.folder,
        env=env,
        web_command=[str(python), *web],
        worker_commands=[worker] * JOB_PROCESSES,
        worker_is_ready="ready",
        probe=wire.discover(),
    )


@contextmanager
def running(*sides: Side, workers: bool = False) -> Iterator[None]:
    """The web processes of these sides, and their workers if wanted, run for the block."""
    try:
        for side in sides:
            side.start_web()
            if workers:
                side.start_workers()
        yield
    finally:
        for side in sides:
            side.close()


@contextmanager
def only(side: Side, sides: Sequence[Side]) -> Iterator[None]:
    """For the block, the other sides stand still: what is measured has the machine to itself."""
    others = [other for other in sides if other is not side]
    for other in others:
        other.pause()
    try:
        yield
    finally:
        for other in others:
            other.resume()


def _flask_side(
    name: str, valkey: Valkey, web: list[str], app: str, queue: str, probe: bytes, env: Mapping[str, str]
) -> Side:
    port = free_port()
    python = [sys.executable, "-m"]
    celery = [*python, "celery", "-A", app, "worker", "--loglevel", "INFO", "--without-mingle", "--without-gossip"]
    return Side(
        name=name,
        queue=f"coatcheck:broker:{queue}",
        port=port,
        folder=valkey.folder,
        env={
            "REDIS_URL": valkey.url,
            "PORT": str(port),
            "WEB_CONCURRENCY": str(WEB_PROCESSES),
            "COATCHECK_CONCURRENCY": str(JOB_PROCESSES),
            "COATCHECK_TOOLS": "bench.tools",
            "PYTHONPATH": str(ROOT),
            "PATH": os.environ["PATH"],
            **env,
        },
        web_command=[*python, *web],
        worker_commands=[[*celery, "--hostname", f"{name}@%h"]],
        worker_is_ready=" ready.",
        probe=probe,
    )
