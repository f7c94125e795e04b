"""A server that was fit at the start may be another one later."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from environs import Env

from coatcheck.tasks_store import Patience, StoreSettings, TaskStore
from coatcheck.workers.messages.dispatcher import Dispatcher
from coatcheck.workers.runs.sweeper import Sweeper
from coatcheck.workers.settings import WorkerSettings
from coatcheck.workers.telemetry.metrics import Measures
from coatcheck.workers.toolkit.errors import BrokerUnavailable
from coatcheck.workers.toolkit.tool import Catalogue
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until


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


def test_a_broker_that_does_not_give_a_message_back_fails_the_probe() -> None:
    """Somebody else takes it first, as a broker would that drops what it is sent."""
    with Valkey() as server:
        settings = StoreSettings(redis_url=server.url)
        dispatcher = Dispatcher(WorkerSettings.read(Env(eager=False), settings), settings, Catalogue([]))
        dispatcher.probe()
        with ThreadPoolExecutor(1) as thief, server.client() as client:
            queue = f"coatcheck:broker:coatcheck.probe.{dispatcher._token}"
            taken = thief.submit(client.blpop, [queue], 20)
            wait_until(lambda: client.info("clients")["blocked_clients"] == 1, 5.0, "the thief")
            with pytest.raises(BrokerUnavailable):
                dispatcher.probe()
            assert taken.result() is not None
        dispatcher.close()
