"""A server that was fit at the start may be another one later."""

import pytest
from environs import Env

from coatcheck.tasks_store import Patience, StoreSettings, TaskStore
from coatcheck.workers.messages.dispatcher import Dispatcher
from coatcheck.workers.runs.sweeper import Sweeper
from coatcheck.workers.settings import WorkerSettings
from coatcheck.workers.telemetry.metrics import Measures
from coatcheck.workers.toolkit.tool import Catalogue
from tests.support.valkey import Valkey


def test_a_server_that_evicts_is_told_of_once_as_long_as_it_does(caplog: pytest.LogCaptureFixture) -> None:
    """Redis came up after the worker, or was exchanged, with a policy that drops promised tasks."""
    with Valkey(maxmemory_policy="allkeys-lru") as server:
        settings = StoreSettings(redis_url=server.url)
        store = TaskStore(settings, Patience.WORKER)
        dispatcher = Dispatcher(WorkerSettings.read(Env(eager=False), settings), settings, Catalogue([]))
        sweeper = Sweeper(store, "worker@here", dispatcher, Measures(store.statistics.add))
        sweeper.look()
        sweeper.look()
        store.close()
        dispatcher.close()
    assert [(record.levelname, "allkeys-lru" in record.getMessage()) for record in caplog.records] == [("ERROR", True)]
