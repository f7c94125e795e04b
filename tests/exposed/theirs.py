"""The worker of another application, which has not a line of our code."""

from collections.abc import Mapping
from pathlib import Path

from tests.exposed.environments import python_with_celery
from tests.support.platform import ROOT
from tests.support.processes import Process

SHOP = ROOT / "examples" / "existing_celery"
ODD = Path(__file__).parent / "odd"


class TheirWorker:
    """One worker of an application in a folder of its own."""

    def __init__(
        self,
        python: Path,
        app: str,
        *,
        folder: Path,
        cwd: Path,
        broker: str,
        results: str,
        queue: str,
        concurrency: int = 2,
        env: Mapping[str, str] | None = None,
    ) -> None:
        command = [str(python), "-m", "celery", "-A", app, "worker", "--queues", queue]
        command += ["--concurrency", str(concurrency), "--loglevel", "INFO", "--hostname", f"{app}@%h"]
        command += ["--without-mingle", "--without-gossip"]
        surroundings = {"BROKER_URL": broker, "RESULT_URL": results, "PYTHONPATH": "", **(env or {})}
        self.process = Process(command, name=f"their-{app}", folder=folder, env=surroundings, cwd=cwd)

    def start(self) -> None:
        """It takes messages."""
        printed = len(self.process.log)
        self.process.start()
        self.process.wait_for_line(" ready.", 30.0, after=printed)

    def stop(self) -> None:
        """It has ended in good order."""
        self.process.stop()

    def close(self) -> None:
        """It is gone."""
        self.process.kill()

    def has_run(self, message: str) -> bool:
        """The worker has printed this."""
        return message in self.process.log


def odd_worker(folder: Path, *, broker: str, results: str, **env: str) -> TheirWorker:
    """A worker with one process for the odd application, which lies in this folder."""
    python = python_with_celery("5.7")
    return TheirWorker(
        python, "odd", folder=folder, cwd=folder, broker=broker, results=results, queue="odd", concurrency=1, env=env
    )


def celery_url(url: str) -> str:
    """The address of a test's server as Celery spells it."""
    return url.replace("unix://", "redis+socket://")
