"""What the protocol's own authors check of a server."""

import pytest

from tests.conformance import official
from tests.conformance.summary import PAGE, page

EXPECTED = official.expected()

pytestmark = pytest.mark.timeout(600)
"""The first test installs the suite and runs all of it."""


@pytest.mark.parametrize("scenario", EXPECTED.scenarios)
def test_a_scenario_finds_nothing_unmet_but_what_is_explained(
    suite_results: dict[str, official.Checks], scenario: str
) -> None:
    checks = suite_results[scenario]
    assert checks
    assert official.unmet(checks) == EXPECTED.of(scenario), [check for check in checks if check["status"] == "FAILURE"]


def test_the_suite_runs_the_scenarios_that_are_listed_and_no_others(suite_results: dict[str, official.Checks]) -> None:
    assert list(suite_results) == list(EXPECTED.scenarios)


def test_every_explanation_is_of_a_scenario_that_runs() -> None:
    explained = {name.partition(":")[0] for group in EXPECTED.unmet for name in group.checks}
    assert explained <= set(EXPECTED.scenarios)
    assert all(group.reason for group in EXPECTED.unmet)


def test_the_page_about_the_suite_says_what_it_found(suite_results: dict[str, official.Checks]) -> None:
    assert PAGE.read_text("utf-8") == page(suite_results, EXPECTED), "python -m tests.conformance.summary"
