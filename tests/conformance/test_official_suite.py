"""What the protocol's own authors check of a server."""

from collections.abc import Mapping

import pytest

from tests.conformance import official
from tests.conformance.summary import PAGE, page

EXPECTED = {revision: official.expected(revision) for revision in official.REVISIONS}

SCENARIOS = [(revision, scenario) for revision, wanted in EXPECTED.items() for scenario in wanted.scenarios]

Results = Mapping[str, Mapping[str, official.Checks]]

pytestmark = pytest.mark.timeout(600)
"""The first test installs the suite and runs all of it."""


@pytest.mark.parametrize(("revision", "scenario"), SCENARIOS)
def test_a_scenario_finds_nothing_unmet_but_what_is_explained(
    suite_results: Results, revision: str, scenario: str
) -> None:
    checks = suite_results[revision][scenario]
    assert checks
    failed = [check for check in checks if check["status"] == "FAILURE"]
    assert official.unmet(checks) == EXPECTED[revision].of(scenario), failed


@pytest.mark.parametrize("revision", official.REVISIONS)
def test_the_suite_runs_the_scenarios_that_are_listed_and_no_others(suite_results: Results, revision: str) -> None:
    assert list(suite_results[revision]) == list(EXPECTED[revision].scenarios)


@pytest.mark.parametrize("revision", official.REVISIONS)
def test_every_explanation_is_of_a_scenario_that_runs(revision: str) -> None:
    wanted = EXPECTED[revision]
    explained = {name.partition(":")[0] for group in wanted.unmet for name in group.checks}
    assert explained <= set(wanted.scenarios)
    assert all(group.reason for group in wanted.unmet)


def test_the_page_about_the_suite_says_what_it_found(suite_results: Results) -> None:
    assert PAGE.read_text("utf-8") == page(suite_results, EXPECTED), "python -m tests.conformance.summary"
