"""One run of the official suite for each revision, for all tests that read its results."""

from collections.abc import Mapping

import pytest

from tests.conformance import official
from tests.support.platform import Platform
from tests.support.valkey import Valkey

CONCURRENCY = 8
"""The suite leaves tasks of a minute running for a moment; others must find a free process beside them."""


@pytest.fixture(scope="session")
def suite_results() -> Mapping[str, Mapping[str, official.Checks]]:
    """The checks of each scenario, by revision: of one server, which serves both."""
    official.install()
    with Platform(tools="tests.conformance.tools", valkey=Valkey()) as platform:
        url = platform.start(concurrency=CONCURRENCY).url
        return {revision: official.run(url, revision) for revision in official.REVISIONS}
