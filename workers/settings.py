"""Settings of workers, and of processes that send messages to them."""

import json
from dataclasses import dataclass

from environs import Env
from marshmallow import ValidationError
from marshmallow.validate import OneOf, Range

from coatcheck.tasks_store import StoreSettings, milliseconds
from coatcheck.workers.addresses import UNPICKLING, broker_fault, results_fault
from coatcheck.workers.telemetry.logs import FORMATS
from coatcheck.workers.version import VERSION


@dataclass(frozen=True)
class WorkerSettings:
    """Settings of tools, messages and runs. Read once, at the entry point of a process."""

    tools: tuple[str, ...] = ("coatcheck.workers.tools",)
    """`COATCHECK_TOOLS`: importable modules, comma-separated."""
    broker_url: str = "redis://127.0.0.1:6379/0"
    """`CELERY_BROKER_URL`: where messages go; the store's Redis unless set, needed where that is a Redis Cluster."""
    result_backend: str = "redis://127.0.0.1:6379/0"
    """`CELERY_RESULT_BACKEND`: where Celery counts the parts of a resume chord; the store's Redis unless set."""
    queue: str = "coatcheck"
    """`COATCHECK_QUEUE`: the queue of tools that name none of their own."""
    queue_type: str = "classic"
    """`COATCHECK_QUEUE_TYPE`: `classic`, or `quorum` for queues that RabbitMQ replicates; it decides when a queue is
    first made."""
    broker_prefix: str = "coatcheck:broker:"
    """`COATCHECK_BROKER_PREFIX`: what the keys of the broker on Redis begin with; that of a team's own Celery
    application, mostly none, where its workers run the tools (docs/in-your-project.md)."""
    control_exchange: str = "coatcheck.control"
    """`COATCHECK_CONTROL_EXCHANGE`: where workers hear of what is to be ended; that of a team's own Celery application,
    mostly `celery`, where its workers run the tools."""
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
    log_format: str = "text"
    """`COATCHECK_LOG_FORMAT`: `text` for a person, or `json`: one object a line, with the task's id, tool and run."""
    log_exceptions: str = "places"
    """`COATCHECK_LOG_EXCEPTIONS`: what the log has of an exception that a tool did not mean to raise: its type and its
    `places`, or the `whole` of it, which may quote arguments; `make run` logs the whole."""
    allow_open_flower: bool = False
    """`COATCHECK_ALLOW_OPEN_FLOWER`: let Flower listen on other addresses than loopback without a login, where
    something else guards it."""
    expose_file: str = ""
    """`COATCHECK_EXPOSE`: a TOML file of Celery tasks of another application that are offered as tools."""
    expose_broker_url: str = "redis://127.0.0.1:6379/0"
    """`COATCHECK_EXPOSE_BROKER_URL`: where the workers of exposed tasks take their messages; our broker unless set."""
    expose_result_backend: str = "redis://127.0.0.1:6379/0"
    """`COATCHECK_EXPOSE_RESULT_BACKEND`: where they leave their results; our result backend unless set."""
    expose_config: str = ""
    """`COATCHECK_EXPOSE_CONFIG`: Celery settings of their application that concern messages and results, as a JSON
    object, such as `{"result_backend_transport_options": {"global_keyprefix": "shop:"}}`."""
    expose_look_ms: int = 2_000
    """`COATCHECK_EXPOSE_LOOK_SECONDS`: the longest pause between two looks at how an exposed task gets on."""
    expose_silence_ms: int = 3_600_000
    """`COATCHECK_EXPOSE_SILENCE_SECONDS`: how long an exposed task may be in no queue, with no worker and without a
    result before it is given up as lost; where all their workers are idle it is given up much sooner."""
    server_name: str = "coatcheck"
    """`COATCHECK_SERVER_NAME`: how the server introduces itself."""
    server_version: str = VERSION
    """The version of the distribution."""

    @classmethod
    def read(cls, env: Env, store: StoreSettings) -> "WorkerSettings":
        """Read the settings from the environment. `env` collects faults and raises them when it is sealed."""
        broker_url = env.str("CELERY_BROKER_URL", store.redis_url, validate=_check_broker)
        result_backend = env.str("CELERY_RESULT_BACKEND", store.redis_url, validate=_check_results)
        positive = Range(min=1, error="must be at least 1")
        tools = env.list("COATCHECK_TOOLS", list(cls.tools)) or []
        return cls(
            tools=tuple(name.strip() for name in tools if name.strip()),
            broker_url=broker_url,
            result_backend=result_backend,
            queue=env.str("COATCHECK_QUEUE", cls.queue),
            queue_type=env.str(
                "COATCHECK_QUEUE_TYPE",
                cls.queue_type,
                validate=OneOf(["classic", "quorum"], error="must be classic or quorum"),
            ),
            broker_prefix=env.str("COATCHECK_BROKER_PREFIX", cls.broker_prefix),
            control_exchange=env.str("COATCHECK_CONTROL_EXCHANGE", cls.control_exchange),
            concurrency=env.int("COATCHECK_CONCURRENCY", cls.concurrency, validate=positive),
            max_runs=env.int("COATCHECK_MAX_RUNS", cls.max_runs, validate=positive),
            max_result_bytes=env.int("COATCHECK_MAX_RESULT_BYTES", cls.max_result_bytes, validate=positive),
            max_step_bytes=env.int("COATCHECK_MAX_STEP_BYTES", cls.max_step_bytes, validate=positive),
            shutdown_grace_ms=milliseconds(env, "COATCHECK_SHUTDOWN_GRACE_SECONDS", cls.shutdown_grace_ms, least=0),
            log_format=env.str(
                "COATCHECK_LOG_FORMAT",
                cls.log_format,
                validate=OneOf(FORMATS, error="must be text or json"),
            ),
            log_exceptions=env.str(
                "COATCHECK_LOG_EXCEPTIONS",
                cls.log_exceptions,
                validate=OneOf(["places", "whole"], error="must be places or whole"),
            ),
            allow_open_flower=env.bool("COATCHECK_ALLOW_OPEN_FLOWER", cls.allow_open_flower),
            expose_file=env.str("COATCHECK_EXPOSE", cls.expose_file),
            expose_broker_url=env.str("COATCHECK_EXPOSE_BROKER_URL", broker_url, validate=_check_broker),
            expose_result_backend=env.str(
                "COATCHECK_EXPOSE_RESULT_BACKEND", result_backend, validate=[_check_shared_backend, _check_results]
            ),
            expose_config=env.str("COATCHECK_EXPOSE_CONFIG", cls.expose_config, validate=_check_json_object),
            expose_look_ms=milliseconds(env, "COATCHECK_EXPOSE_LOOK_SECONDS", cls.expose_look_ms, least=0.1),
            expose_silence_ms=milliseconds(env, "COATCHECK_EXPOSE_SILENCE_SECONDS", cls.expose_silence_ms, least=1),
            server_name=env.str("COATCHECK_SERVER_NAME", cls.server_name),
        )

    @property
    def server_info(self) -> dict[str, str]:
        """`name` and `version`, as in every result."""
        return {"name": self.server_name, "version": self.server_version}


def _check_broker(url: str) -> None:
    if fault := broker_fault(url):
        raise ValidationError(fault)


def _check_results(url: str) -> None:
    if fault := results_fault(url):
        raise ValidationError(fault)


def _check_shared_backend(url: str) -> None:
    if url.startswith(("rpc", "disabled")):
        raise ValidationError("must be a result backend that other processes can read too, such as a Redis")
    if url.partition("://")[0].partition("+")[0] in UNPICKLING:
        raise ValidationError(
            "must not be a result backend that unpickles what it reads: code of the other application would run in"
            " this process; let its workers leave results in a Redis (docs/existing-celery.md)"
        )


def _check_json_object(text: str) -> None:
    try:
        is_object = not text or isinstance(json.loads(text), dict)
    except ValueError:
        is_object = False
    if not is_object:
        raise ValidationError("must be a JSON object")
