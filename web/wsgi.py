"""Entry point of a web process: `gunicorn --config web/gunicorn.conf.py web.wsgi:app`."""

import logging
import os
import sys

from coatcheck.tasks_store import UnfitStore, arm, refuse_unfit_store
from coatcheck.variables import unknown_variables
from coatcheck.web.app import create_app
from coatcheck.web.errors import CANNOT_START, InvalidWebSettings
from coatcheck.web.settings.web import read_settings
from coatcheck.workers.telemetry.logs import TEXT, write_as
from coatcheck.workers.toolkit.errors import WorkersError

logging.basicConfig(level=logging.INFO, format=TEXT)

logger = logging.getLogger(__name__)

try:
    settings = read_settings()
    write_as(settings.workers.log_format, logging.getLogger())
    for unknown in unknown_variables(os.environ):
        logger.warning("%s", unknown)
    arm(settings.store.faults)
    refuse_unfit_store(settings.store)
    app = create_app(settings)
    if settings.auth.mode == "none" and settings.auth.allow_anonymous:
        logger.warning("COATCHECK_ALLOW_ANONYMOUS: whoever can reach this server may call every tool and see all tasks")
except (InvalidWebSettings, UnfitStore, WorkersError) as fault:
    print(f"coatcheck cannot start:\n{fault}", file=sys.stderr)  # noqa: T201 - for the person who started it
    sys.exit(CANNOT_START)
