"""One platform for all tests of the older era: two web processes, so that what belongs together meets both."""

from collections.abc import Iterator

import pytest

from tests.legacy import typescript
from tests.legacy.older import Older
from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.valkey import Valkey

TOOLS = "tests.conformance.tools,tests.web.tools,tests.legacy.tools"

ENV = {"WEB_CONCURRENCY": "2"}


@pytest.fixture(scope="session")
def platform() -> Iterator[Platform]:
    """Front doors and workers over a store of their own."""
    with Platform(tools=TOOLS, env=ENV, valkey=Valkey()) as platform:
        yield platform.start(concurrency=4)


@pytest.fixture(scope="session")
def typescript_client() -> None:
    """The TypeScript client is installed."""
    typescript.install()


@pytest.fixture
def older(platform: Platform) -> Iterator[Older]:
    """A client of 2025-11-25."""
    with Older(platform.url) as older:
        yield older


@pytest.fixture
def client(platform: Platform) -> Iterator[Client]:
    """A client of today, which has the same tasks."""
    with platform.client() as client:
        yield client
