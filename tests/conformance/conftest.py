"""One run of the official suite for all tests that read its results."""

import pytest

from tests.conformance import official
from tests.support.platform import Platform
from tests.support.valkey import Valkey

CONCURRENCY = 8
"""The suite leaves tasks of a minute running for a moment; others must find a free process beside them."""


@pytest.fixture(scope="session")
def suite_results() -> dict[str, official.Checks]:
    """The checks of each scenario."""
    official.install()
    with Platform(tools="tests.conformance.tools", valkey=Valkey()) as platform:
        return official.run(platform.start(concurrency=CONCURRENCY).url)
