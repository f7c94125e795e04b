"""What Flask, Celery and Redis give with nothing of ours in between: the ceilings.

Celery has the settings that Coatcheck gives it; it is those that the ceiling is about, not Celery's defaults.
"""

from dataclasses import replace

from celery import Celery
from environs import Env
from flask import Flask, Response
from redis import Redis

from coatcheck.tasks_store import StoreSettings
from coatcheck.workers.messages.celery_app import create_celery
from coatcheck.workers.settings import WorkerSettings

QUEUE = "bench"
JSON = "application/json"

SMALL = "bench:small"
LARGE = "bench:large"

SMALL_BYTES = 420
"""As long as the answer to a poll of a working task."""
LARGE_BYTES = 100_000


def create_app(settings: StoreSettings, celery_settings: WorkerSettings) -> Celery:
    """A Celery application with Coatcheck's settings and two tasks that do nothing."""
    celery = create_celery(celery_settings, settings)
    celery.task(name="bench.noop", ignore_result=True)(_noop)
    celery.task(name="bench.noop_with_result", ignore_result=False)(_noop)
    return celery


def settings_for(redis_url: str) -> tuple[StoreSettings, WorkerSettings]:
    """Coatcheck's settings with this Redis for everything, and a queue of our own."""
    store = StoreSettings(redis_url=redis_url)
    return store, replace(WorkerSettings.read(Env(eager=False), store), queue=QUEUE)


def fill(client: Redis) -> None:
    """The values that the routes read are there."""
    client.set(SMALL, b"x" * SMALL_BYTES)
    client.set(LARGE, b"x" * LARGE_BYTES)


def _noop(task_id: str) -> str:
    """Does nothing."""
    return task_id


url = Env().str("REDIS_URL", StoreSettings.redis_url)
redis = Redis.from_url(url, protocol=2, max_connections=10_000)
app = create_app(*settings_for(url))
noop = app.tasks["bench.noop"]
web = Flask("bench")


@web.post("/small")
def small() -> Response:
    """One Redis GET of a small value."""
    return Response(redis.get(SMALL) or b"", mimetype=JSON)


@web.post("/large")
def large() -> Response:
    """One Redis GET of a large value."""
    return Response(redis.get(LARGE) or b"", mimetype=JSON)


@web.post("/send")
def send() -> Response:
    """One `apply_async`."""
    noop.apply_async(args=("0" * 33,), retry=False)
    return Response(b"{}", mimetype=JSON)
