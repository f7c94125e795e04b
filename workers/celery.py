"""The entry point of a worker and of Flower: `celery -A workers worker`, `celery -A workers flower`.

Celery finds the application here by name. This is where a worker reads the environment, once.
"""

import logging
import sys
import threading
from typing import Any

from celery import signals
from environs import Env, EnvValidationError

from tasks_store import Patience, StoreSettings, TaskStore, UnfitStore, arm, fault_lines, refuse_unfit_store
from workers.celery_app import create_celery
from workers.celery_tasks import register
from workers.lease import Drain, LeaseKeeper
from workers.runner import Runner
from workers.settings import WorkerSettings
from workers.signatures import Dispatcher
from workers.sweeper import Sweeper
from workers.tool import CELERY_PREFIX, Catalogue

logger = logging.getLogger(__name__)

env = Env(eager=False)
store_settings = StoreSettings.read(env)
settings = WorkerSettings.read(env, store_settings)
try:
    env.seal()
except EnvValidationError as fault:
    sys.exit(f"coatcheck cannot start:\n{fault_lines(fault)}")
arm(store_settings.faults)

catalogue = Catalogue.load(settings.tools)
app = create_celery(settings, store_settings)
store = TaskStore(store_settings, Patience.WORKER)
drain = Drain()
dispatcher = Dispatcher.within(app, settings.queue, catalogue)
runner = Runner(store, LeaseKeeper(store, drain), settings, dispatcher.send_run)
register(app, catalogue, runner)


@signals.worker_init.connect
def check_store(**_: Any) -> None:
    """A worker does not begin on a store that could lose records."""
    try:
        refuse_unfit_store(store_settings)
    except UnfitStore as fault:
        sys.exit(f"coatcheck cannot start:\n{fault}")


@signals.worker_ready.connect
def start_sweeper(sender: Any, **_: Any) -> None:
    """The worker sweeps, or stands by to, for as long as it lives."""
    Sweeper(store, sender.hostname, dispatcher.send_run).start()


@signals.worker_shutting_down.connect
def hand_back(**_: Any) -> None:
    """Short jobs get time to finish; the others stop at their next checkpoint then, and go on elsewhere."""
    grace = threading.Timer(settings.shutdown_grace_ms / 1000, drain.start)
    grace.daemon = True
    grace.start()


@signals.task_unknown.connect
def refuse_unknown(name: str, id: str, **_: Any) -> None:  # noqa: A002 - the signal's own word
    """A task whose tool is gone since it was created ends with an error, instead of waiting for ever."""
    if name.startswith(CELERY_PREFIX):
        tool = name.removeprefix(CELERY_PREFIX)
        runner.refuse(id.partition(".")[0], f"This deployment no longer offers the tool {tool}")
