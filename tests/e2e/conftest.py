"""A platform for every end-to-end test, and a look at what it left in the store."""

from collections.abc import Iterator

import pytest

from tests.e2e.ledger import LEDGER, Ledger
from tests.support.client import Client
from tests.support.leaks import leaked_keys
from tests.support.platform import Platform


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    """What the tools of this module's platform really did."""
    return Ledger(tmp_path_factory.mktemp("ledger") / "ledger.sqlite")


@pytest.fixture(scope="module")
def platform(ledger: Ledger) -> Iterator[Platform]:
    """A running platform with one worker, shared by the tests of a module."""
    with Platform(env={LEDGER: str(ledger.path)}).start() as platform:
        yield platform


@pytest.fixture
def client(platform: Platform) -> Iterator[Client]:
    """A client of the platform; fails a test that leaves keys which would stay for ever."""
    with platform.client() as client:
        yield client
    with platform.valkey.client() as raw:
        assert leaked_keys(raw) == []
