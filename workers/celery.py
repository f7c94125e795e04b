"""The entry point of a worker and of Flower: `celery -A coatcheck.workers worker`, and `flower`.

Celery finds the application here by name. This is where a worker reads the environment, once.
"""

import logging
import os
import sys
import traceback
from typing import Any

from celery import signals
from environs import Env, EnvValidationError

from coatcheck.settings_file import InvalidSettingsFile, add_settings_of_file
from coatcheck.tasks_store import (
    Patience,
    StoreRefused,
    StoreSettings,
    StoreUnavailable,
    TaskStore,
    UnfitStore,
    arm,
    fault_lines,
    refuse_unfit_store,
)
from coatcheck.variables import unknown_variables
from coatcheck.workers.external.handover import Handover
from coatcheck.workers.external.watcher import Watcher
from coatcheck.workers.messages.celery_app import create_celery
from coatcheck.workers.messages.dispatcher import Dispatcher
from coatcheck.workers.messages.other_application import Cluster
from coatcheck.workers.process.celery_tasks import register
from coatcheck.workers.process.lost_processes import cancel_run, in_background
from coatcheck.workers.process.pools import BusyProcesses, NoPrefetch, Places, Reaper, SignOfLife, consuming
from coatcheck.workers.runs.lease import LeaseKeeper
from coatcheck.workers.runs.runner import Runner
from coatcheck.workers.runs.shutdown import Drain, SigtermHeeded
from coatcheck.workers.runs.sweeper import Sweeper
from coatcheck.workers.settings import WorkerSettings
from coatcheck.workers.telemetry.flower_guard import guard_flower
from coatcheck.workers.telemetry.flower_settings import flower_faults
from coatcheck.workers.telemetry.logs import write_as
from coatcheck.workers.telemetry.metrics import Measures
from coatcheck.workers.toolkit.catalogue import load_catalogue
from coatcheck.workers.toolkit.errors import BrokerRefused, BrokerUnavailable, ToolModuleError, WorkersError
from coatcheck.workers.toolkit.tool import CELERY_PREFIX

logger = logging.getLogger(__name__)

try:
    add_settings_of_file(os.environ)
except InvalidSettingsFile as fault:
    sys.exit(f"coatcheck cannot start:\n{fault}")
env = Env(eager=False)
store_settings = StoreSettings.read(env)
settings = WorkerSettings.read(env, store_settings)
try:
    env.seal()
except EnvValidationError as fault:
    sys.exit(f"coatcheck cannot start:\n{fault_lines(fault)}")
# Flower reads its own before any signal of Celery's.
if "flower" in sys.argv and (faults := flower_faults()):
    sys.exit(f"coatcheck cannot start Flower:\n{faults}")
arm(store_settings.faults)

try:
    catalogue = load_catalogue(settings)
except WorkersError as fault:
    if isinstance(fault, ToolModuleError) and fault.__cause__ is not None:
        traceback.print_exception(fault.__cause__)  # where in the author's module it went wrong
    sys.exit(f"coatcheck cannot start:\n{fault}")
app = create_celery(settings, store_settings)
store = TaskStore(store_settings, Patience.WORKER)
drain = Drain(settings.shutdown_grace_ms / 1000)
dispatcher = Dispatcher(settings, store_settings, catalogue)
cluster = Cluster(settings, store_settings)
measures = Measures(store.statistics.add)
runner = Runner(store, LeaseKeeper(store, drain), settings, dispatcher.send_run, Handover(store, cluster), measures)
register(app, catalogue, runner)
app.steps["worker"].update([Reaper, BusyProcesses, Places])
app.conf.worker_consumer = "coatcheck.workers.process.consumer:Consumer"
app.steps["consumer"].update([SignOfLife, NoPrefetch])

sigterm = SigtermHeeded(drain)
signals.task_prerun.connect(sigterm.heed)


@signals.celeryd_init.connect
def speak_to_machines(instance: Any, **_: Any) -> None:
    """A log that is read by machines has no picture in it, and no plain line before Celery sets its own up."""
    if settings.log_format == "json":
        instance.quiet = True
        logging.basicConfig(level=logging.INFO)
        logging.captureWarnings(capture=True)
        write_as(settings.log_format, logging.getLogger())


@signals.after_setup_logger.connect
@signals.after_setup_task_logger.connect
def set_up_log(logger: logging.Logger, **_: Any) -> None:
    """Lines of the worker, of the processes of its pool, and of tools look as the setting says."""
    write_as(settings.log_format, logger)


@signals.worker_process_shutdown.connect
def close_measures(**_: Any) -> None:
    """A pool process that ends in good order leaves none of its counts behind."""
    measures.close()


@signals.worker_init.connect
def check_store(**_: Any) -> None:
    """Warn of variables that mean nothing, and do not begin on a store that could lose records."""
    for fault in unknown_variables(os.environ):
        logger.warning("%s", fault)
    try:
        refuse_unfit_store(store_settings)
    except UnfitStore as fault:
        sys.exit(f"coatcheck cannot start:\n{fault}")
    try:
        store.probe()
        dispatcher.probe()
        dispatcher.probe_control()
    except (StoreRefused, BrokerRefused) as fault:
        logger.error("This worker takes no messages as long as that lasts: %s", fault)
    except (StoreUnavailable, BrokerUnavailable):
        pass  # they are waited for


@signals.import_modules.connect(sender=app)
def guard(**_: Any) -> None:
    """Flower sends this once it has read its options, before it listens."""
    guard_flower(may_be_open=settings.allow_open_flower)


@signals.worker_ready.connect
def start_sweeper(sender: Any, **_: Any) -> None:
    """The worker sweeps, or stands by to, for as long as it lives."""
    Sweeper(store, sender.hostname, dispatcher, measures, consuming).start()


@signals.worker_ready.connect
def start_watcher(**_: Any) -> None:
    """The worker looks after the tasks that others work on, if there can be any."""
    if any(tool.exposed for tool in catalogue):
        Watcher(store, cluster, catalogue, settings, measures).start()


@signals.worker_shutting_down.connect
def hand_back(how: str, **_: Any) -> None:
    """Short jobs get time to finish; the others stop at their next checkpoint then, and go on elsewhere."""
    if how == "Warm":
        drain.begin()


@signals.task_revoked.connect
def cancel_revoked(request: Any, **_: Any) -> None:
    """A task whose message was revoked by an operator, in Flower for one, is cancelled."""
    in_background(str(request.id), cancel_run, store, str(request.id))


@signals.task_unknown.connect
def refuse_unknown(name: str, id: str, **_: Any) -> None:  # noqa: A002 - the signal's own word
    """A task whose tool is gone since it was created ends with an error, instead of waiting for ever."""
    if name.startswith(CELERY_PREFIX):
        tool = name.removeprefix(CELERY_PREFIX)
        runner.refuse(id.partition(".")[0], f"This deployment no longer offers the tool {tool}")
