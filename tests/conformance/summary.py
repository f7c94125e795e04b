"""`python -m tests.conformance.summary` writes `docs/conformance.md` from the last runs of the official suite."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.conformance.official import HERE, IN_ORDER, REVISIONS, Checks, Expected, expected, results

PAGE: Final = Path(__file__).parents[2] / "docs" / "conformance.md"

SUITE: Final = "@modelcontextprotocol/conformance"

HEAD: Final = """\
# What the official conformance suite finds

`make test` runs `{suite}` {version} against a front door and a worker that serve the suite's fixture tools
(`tests/conformance/tools.py`): once with the requirement set of {newest} and the scenarios of the tasks extension,
and once, on the same server, with that of {older}, which [legacy clients](legacy.md) speak. What the suite prints and
each of its checks are kept in `build/conformance`. This page is made from them by
`python -m tests.conformance.summary`; a test compares the two.
"""

TABLE: Final = """
## {revision}

**{met} of {judged} checks succeed; all checks succeed in {whole} of {scenarios} scenarios.** The others are explained
below.

| scenario | succeed | unmet |
| --- | ---: | --- |
"""

REASONS: Final = """
### Why some are unmet

"""


def page(found: Mapping[str, Mapping[str, Checks]], wanted: Mapping[str, Expected]) -> str:
    """The page about these results, by revision."""
    version = json.loads((HERE / "package.json").read_text("utf-8"))["devDependencies"][SUITE]
    newest, older = found
    head = HEAD.format(suite=SUITE, version=version, newest=newest, older=older)
    return head + "".join(_chapter(revision, found[revision], wanted[revision]) for revision in found)


def _chapter(revision: str, found: Mapping[str, Checks], wanted: Expected) -> str:
    rows, totals = [], Counter[str]()
    for scenario, checks in found.items():
        met = sum(check["status"] == "SUCCESS" for check in checks)
        unmet = [f"`{check['id']}` {check['status'].lower()}" for check in checks if check["status"] not in IN_ORDER]
        rows.append(f"| {scenario} | {met} | {', '.join(unmet)} |\n")
        totals += Counter(met=met, judged=met + len(unmet), whole=not unmet)
    table = TABLE.format(revision=revision, scenarios=len(found), **totals)
    reasons = [f"- {group.reason}\n  ({', '.join(f'`{name}`' for name in group.checks)})\n" for group in wanted.unmet]
    return table + "".join(rows) + REASONS + "".join(reasons)


if __name__ == "__main__":
    found = {revision: results(revision) for revision in REVISIONS}
    PAGE.write_text(page(found, {revision: expected(revision) for revision in REVISIONS}), "utf-8")
