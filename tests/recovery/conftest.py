"""A ledger, a running platform and a client for the tests of one module."""

from collections.abc import Iterator

import pytest

from tests.e2e.ledger import LEDGER, Ledger
from tests.support.client import Client
from tests.support.leaks import leaked_keys
from tests.support.platform import Platform

TOOLS = "tests.e2e.tools,tests.recovery.tools"


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    """What the tools of this module's platform really did."""
    return Ledger(tmp_path_factory.mktemp("ledger") / "ledger.sqlite")


@pytest.fixture(scope="module")
def bare_platform(ledger: Ledger) -> Iterator[Platform]:
    """A store and a front door; a test starts the workers it wants."""
    with Platform(tools=TOOLS, env={LEDGER: str(ledger.path)}) as platform:
        yield platform.start(workers=0)


@pytest.fixture
def client(platform: Platform) -> Iterator[Client]:
    """A client of the platform; fails a test that leaves keys which would stay for ever."""
    with platform.client() as client:
        yield client
    with platform.valkey.client() as raw:
        assert leaked_keys(raw) == []
