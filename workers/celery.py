"""The entry point of a worker and of Flower: `celery -A coatcheck.workers worker`, and `flower`.

Celery imports the application from here by name. A worker reads its environment once, in this module.
"""

import logging
import sys
from typing import Any

from celery import signals

from coatcheck.workers.messages.celery_app import create_celery
from coatcheck.workers.process.celery_tasks import register
from coatcheck.workers.process.pools import BusyProcesses, NoPrefetch, Places, Reaper, SignOfLife
from coatcheck.workers.process.tool_worker import ToolWorker
from coatcheck.workers.runs.shutdown import SigtermHeeded
from coatcheck.workers.telemetry.flower_guard import guard_flower
from coatcheck.workers.telemetry.flower_settings import flower_faults
from coatcheck.workers.telemetry.logs import write_as

tools = ToolWorker.of_environment()
settings = tools.settings
# Flower reads its variables before Celery sends any signal.
if "flower" in sys.argv and (faults := flower_faults()):
    sys.exit(f"coatcheck cannot start Flower:\n{faults}")

app = create_celery(settings, tools.store_settings)
register(app, tools.catalogue, tools.runner)
app.steps["worker"].update([Reaper, BusyProcesses, Places])
app.conf.worker_consumer = "coatcheck.workers.process.consumer:Consumer"
app.steps["consumer"].update([SignOfLife, NoPrefetch])

sigterm = SigtermHeeded(tools.drain)
signals.task_prerun.connect(sigterm.heed)


@signals.celeryd_init.connect
def speak_to_machines(instance: Any, **_: Any) -> None:
    """Omit Celery's banner from a JSON log, and format the lines before Celery configures logging."""
    if settings.log_format == "json":
        instance.quiet = True
        logging.basicConfig(level=logging.INFO)
        logging.captureWarnings(capture=True)
        write_as(settings.log_format, logging.getLogger())


@signals.after_setup_logger.connect
@signals.after_setup_task_logger.connect
def set_up_log(logger: logging.Logger, **_: Any) -> None:
    """Format the lines of the worker, its pool processes and tools as the setting says."""
    write_as(settings.log_format, logger)


@signals.import_modules.connect(sender=app)
def guard(**_: Any) -> None:
    """Check Flower's options. The signal is sent after Flower has read them, and before it listens."""
    guard_flower(may_be_open=settings.allow_open_flower)


signals.worker_init.connect(tools.check)
signals.worker_ready.connect(tools.start)
signals.worker_shutting_down.connect(tools.hand_back)
signals.worker_process_shutdown.connect(tools.close_measures)
signals.task_revoked.connect(tools.cancel_revoked)
signals.task_unknown.connect(tools.refuse_unknown)
