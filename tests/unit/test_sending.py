"""How messages to workers are sent."""

from concurrent.futures import ThreadPoolExecutor

from coatcheck.tasks_store import StoreSettings
from coatcheck.workers.messages.dispatcher import Dispatcher
from coatcheck.workers.settings import WorkerSettings
from coatcheck.workers.toolkit.tool import Catalogue


def test_threads_of_a_process_send_by_the_same_result_backend() -> None:
    """Making one reads the entry points of every installed distribution, and each connection to the web is a thread."""
    dispatcher = Dispatcher(WorkerSettings(), StoreSettings(), Catalogue([]))
    here = dispatcher._app.backend
    with ThreadPoolExecutor(1) as other:
        assert other.submit(lambda: dispatcher._app.backend).result() is here
    dispatcher.close()
