"""Platforms for the end-to-end tests, and a look at what each test left in the store."""

from collections.abc import Iterator

import pytest

from tests.e2e.checkout import Checkout
from tests.e2e.ledger import LEDGER, Ledger
from tests.e2e.readme import code
from tests.support.client import Client
from tests.support.leaks import leaked_keys
from tests.support.platform import Platform


@pytest.fixture(scope="session")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    """What the tools of these tests really did."""
    return Ledger(tmp_path_factory.mktemp("ledger") / "ledger.sqlite")


@pytest.fixture(scope="session")
def platform(ledger: Ledger) -> Iterator[Platform]:
    """A running platform with one worker, for tests that leave it running."""
    with Platform(env={LEDGER: str(ledger.path)}) as platform:
        yield platform.start()


@pytest.fixture
def client(platform: Platform) -> Iterator[Client]:
    """A client of the platform; fails a test that leaves keys which would stay for ever."""
    with platform.client() as client:
        yield client
    with platform.valkey.client() as raw:
        assert leaked_keys(raw) == []


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    """A `make run`, with the tool that stands in the README beside the bundled ones."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "mytools.py").write_text(code("Write a tool", "python"))
    checkout = Checkout(folder, env={"COATCHECK_TOOLS": "mytools,workers.tools"})
    try:
        checkout.start()
        yield checkout
    finally:
        checkout.close()
