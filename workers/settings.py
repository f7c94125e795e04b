"""What workers, and whoever sends work to them, need to know of their surroundings."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from environs import Env
from marshmallow.validate import Range

from tasks_store import StoreSettings, milliseconds
from workers.version import VERSION


@dataclass(frozen=True)
class WorkerSettings:
    """Which tools there are, and how they are run. Read once, at the entry point of a process."""

    tools: tuple[str, ...] = ("workers.tools",)
    """`COATCHECK_TOOLS`: importable modules, comma-separated."""
    broker_url: str = "redis://127.0.0.1:6379/0"
    """`CELERY_BROKER_URL`: where messages go; the store's Redis unless set, and needed where that is a Redis Cluster."""
    result_backend: str = "redis://127.0.0.1:6379/0"
    """`CELERY_RESULT_BACKEND`: where Celery counts the parts of a resume chord; the store's Redis unless set."""
    queue: str = "coatcheck"
    """`COATCHECK_QUEUE`: the queue of tools that name none of their own."""
    concurrency: int = 2
    """`COATCHECK_CONCURRENCY`: how many runs one worker works on at a time."""
    max_runs: int = 3
    """`COATCHECK_MAX_RUNS`: how many runs in a row may be lost with their worker before a task is failed."""
    max_result_bytes: int = 8 * 1024 * 1024
    """`COATCHECK_MAX_RESULT_BYTES`: the largest result, as JSON."""
    max_step_bytes: int = 8 * 1024 * 1024
    """`COATCHECK_MAX_STEP_BYTES`: the largest result of one step, as JSON."""
    shutdown_grace_ms: int = 5_000
    """`COATCHECK_SHUTDOWN_GRACE_SECONDS`: how long running jobs may go on after SIGTERM before they are handed back."""
    server_name: str = "coatcheck"
    """`COATCHECK_SERVER_NAME`: how the server introduces itself."""
    server_version: str = VERSION
    """Which version it says it is: the distribution's."""

    @classmethod
    def read(cls, env: Env, store: StoreSettings) -> "WorkerSettings":
        """The settings as the environment has them; faults are kept by `env` and reported when it is sealed."""
        shared = celery_url(store.redis_url)
        positive = Range(min=1, error="must be at least 1")
        tools = env.list("COATCHECK_TOOLS", list(cls.tools)) or []
        return cls(
            tools=tuple(name.strip() for name in tools if name.strip()),
            broker_url=env.str("CELERY_BROKER_URL", shared),
            result_backend=env.str("CELERY_RESULT_BACKEND", shared),
            queue=env.str("COATCHECK_QUEUE", cls.queue),
            concurrency=env.int("COATCHECK_CONCURRENCY", cls.concurrency, validate=positive),
            max_runs=env.int("COATCHECK_MAX_RUNS", cls.max_runs, validate=positive),
            max_result_bytes=env.int("COATCHECK_MAX_RESULT_BYTES", cls.max_result_bytes, validate=positive),
            max_step_bytes=env.int("COATCHECK_MAX_STEP_BYTES", cls.max_step_bytes, validate=positive),
            shutdown_grace_ms=milliseconds(env, "COATCHECK_SHUTDOWN_GRACE_SECONDS", cls.shutdown_grace_ms, least=0),
            server_name=env.str("COATCHECK_SERVER_NAME", cls.server_name),
        )

    @property
    def server_info(self) -> dict[str, str]:
        """`name` and `version`, as every result carries them."""
        return {"name": self.server_name, "version": self.server_version}


def celery_url(redis_url: str) -> str:
    """The store's address in Celery's spelling. A Redis Cluster stays as it is: Celery cannot use one as a broker."""
    parts = urlsplit(redis_url)
    if parts.scheme == "unix":
        database = next((pair[3:] for pair in parts.query.split("&") if pair.startswith("db=")), "0")
        return f"redis+socket://{parts.netloc}{parts.path}?virtual_host={database}"
    return redis_url
