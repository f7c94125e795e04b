"""The objects of a Celery worker that runs tools, and the receivers of Celery's signals."""

import logging
import os
import sys
import traceback
from typing import Any, Self

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
from coatcheck.workers.messages.dispatcher import Dispatcher
from coatcheck.workers.messages.other_application import Cluster
from coatcheck.workers.process.lost_processes import cancel_run, in_background
from coatcheck.workers.process.pools import consuming
from coatcheck.workers.runs.lease import LeaseKeeper
from coatcheck.workers.runs.runner import Runner
from coatcheck.workers.runs.shutdown import Drain
from coatcheck.workers.runs.sweeper import Sweeper
from coatcheck.workers.settings import WorkerSettings
from coatcheck.workers.telemetry.metrics import Measures
from coatcheck.workers.toolkit.catalogue import load_catalogue
from coatcheck.workers.toolkit.errors import BrokerRefused, BrokerUnavailable, ToolModuleError, WorkersError
from coatcheck.workers.toolkit.tool import CELERY_PREFIX, Catalogue

logger = logging.getLogger(__name__)

CANNOT_START = "coatcheck cannot start:\n"
"""The first line of an error message at the start."""


class ToolWorker:
    """Runs the tools of a catalogue in a worker. Create it in the main process, before the pool.

    Methods with `**_` are receivers of Celery's signals.
    """

    def __init__(self, settings: WorkerSettings, store_settings: StoreSettings, catalogue: Catalogue) -> None:
        self.settings = settings
        self.store_settings = store_settings
        self.catalogue = catalogue
        self.store = TaskStore(store_settings, Patience.WORKER)
        self.drain = Drain(settings.shutdown_grace_ms / 1000)
        self.dispatcher = Dispatcher(settings, store_settings, catalogue)
        self._cluster = Cluster(settings, store_settings)
        self._measures = Measures(self.store.statistics.add)
        self.runner = Runner(
            self.store,
            LeaseKeeper(self.store, self.drain),
            settings,
            self.dispatcher.send_run,
            Handover(self.store, self._cluster),
            self._measures,
        )

    @classmethod
    def of_environment(cls) -> Self:
        """Return a worker with the settings of the environment and the settings file.

        Exits with a sentence for each fault.
        """
        try:
            add_settings_of_file(os.environ)
        except InvalidSettingsFile as fault:
            sys.exit(f"{CANNOT_START}{fault}")
        env = Env(eager=False)
        store_settings = StoreSettings.read(env)
        settings = WorkerSettings.read(env, store_settings)
        try:
            env.seal()
        except EnvValidationError as fault:
            sys.exit(f"{CANNOT_START}{fault_lines(fault)}")
        arm(store_settings.faults)
        try:
            catalogue = load_catalogue(settings)
        except WorkersError as fault:
            if isinstance(fault, ToolModuleError) and fault.__cause__ is not None:
                traceback.print_exception(fault.__cause__)  # shows the line of the author's module
            sys.exit(f"{CANNOT_START}{fault}")
        return cls(settings, store_settings, catalogue)

    def check(self, **_: Any) -> None:
        """Warn of unknown variables, and exit if the store could lose records."""
        for fault in unknown_variables(os.environ):
            logger.warning("%s", fault)
        try:
            refuse_unfit_store(self.store_settings)
        except UnfitStore as fault:
            sys.exit(f"{CANNOT_START}{fault}")
        try:
            self.store.probe()
            self.dispatcher.probe()
            self.dispatcher.probe_control()
        except (StoreRefused, BrokerRefused) as fault:
            logger.error("This worker takes no messages as long as that lasts: %s", fault)
        except (StoreUnavailable, BrokerUnavailable):
            pass  # the worker waits for them

    def start(self, sender: Any, **_: Any) -> None:
        """Start the sweeper and, if there are exposed tools, the watcher."""
        Sweeper(self.store, sender.hostname, self.dispatcher, self._measures, consuming).start()
        if any(tool.exposed for tool in self.catalogue):
            Watcher(self.store, self._cluster, self.catalogue, self.settings, self._measures).start()

    def hand_back(self, how: str, **_: Any) -> None:
        """Begin the grace period of a warm shutdown, after which runs are released at their next checkpoint."""
        if how == "Warm":
            self.drain.begin()

    def cancel_revoked(self, sender: Any, request: Any, **_: Any) -> None:
        """Cancel a task whose message an operator revoked, for example in Flower."""
        if sender.name.startswith(CELERY_PREFIX):
            in_background(str(request.id), cancel_run, self.store, str(request.id))

    def refuse_unknown(self, name: str, id: str, **_: Any) -> None:  # noqa: A002 - the name in the signal
        """Fail a task whose tool has been removed, instead of letting it wait for ever."""
        if name.startswith(CELERY_PREFIX):
            tool = name.removeprefix(CELERY_PREFIX)
            self.runner.refuse(id.partition(".")[0], f"This deployment no longer offers the tool {tool}")

    def close_measures(self, **_: Any) -> None:
        """Write the last counts of a pool process that ends."""
        self._measures.close()
