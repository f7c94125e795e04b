"""A real server for every test that touches the store, and a look at what each test leaves behind."""

import signal
import threading
from collections.abc import Iterator

import pytest
from redis import Redis

from coatcheck.tasks_store import Patience, StoreSettings, TaskStore
from tests.support.leaks import leaked_keys, left_threads
from tests.support.needs import closing_line
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until


def pytest_configure() -> None:
    """Processes that tests interrupt or hang up on hear of it, also in the background and under nohup."""
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what brings the tests that were skipped for want of a program."""
    reasons = [str(report.longrepr) for report in terminalreporter.getreports("skipped")]
    if line := closing_line(reasons):
        terminalreporter.write_line(line, yellow=True)


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Fails a test that leaves a thread running."""
    before = threading.enumerate()
    yield
    wait_until(lambda: not left_threads(before), 3.0, f"the end of the test's threads {left_threads(before)}")


@pytest.fixture(scope="session")
def valkey() -> Iterator[Valkey]:
    """The server of all tests that do not need one of their own."""
    with Valkey() as server:
        yield server


@pytest.fixture
def raw(valkey: Valkey) -> Iterator[Redis]:
    """A plain client of the emptied server; fails a test that leaves keys which would stay for ever."""
    with valkey.client() as client:
        client.flushall()
        yield client
        assert leaked_keys(client) == []


@pytest.fixture
def redis_url(valkey: Valkey, raw: Redis) -> str:
    """The address of the emptied server."""
    return valkey.url


@pytest.fixture
def store(redis_url: str) -> Iterator[TaskStore]:
    """The empty store, as the front door uses it."""
    store = TaskStore(StoreSettings(redis_url=redis_url), Patience.DOOR)
    yield store
    store.close()
