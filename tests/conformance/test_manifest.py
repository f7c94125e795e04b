"""Each rule of the protocol has a test that names it, and no test names a rule that there is not."""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
TESTS = HERE.parent

MANIFEST: Mapping[str, Any] = tomllib.loads((HERE / "rules.toml").read_text("utf-8"))
RULES: Mapping[str, Mapping[str, str]] = MANIFEST["rules"]
CASES: Mapping[str, str] = MANIFEST["cases"]

FAMILIES = sorted({name.partition("-")[0] for name in RULES})
NAMED = re.compile(rf"\b(?:(?:{'|'.join(FAMILIES)})-\d+|C\d+)\b")


def named_in_tests() -> dict[str, list[str]]:
    """Rules and cases that docstrings of tests name, each with these tests."""
    found: dict[str, list[str]] = defaultdict(list)
    for file in sorted(TESTS.rglob("test_*.py")):
        for test, docstring in docstrings_of(file):
            for name in NAMED.findall(docstring):
                found[name].append(f"{file.relative_to(TESTS)}::{test}")
    return found


def docstrings_of(file: Path) -> Iterator[tuple[str, str]]:
    """The name and the docstring of each test in a file."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node.name, ast.get_docstring(node) or ""


NAMING = named_in_tests()


@pytest.mark.parametrize("rule", [name for name, rule in RULES.items() if "owed" not in rule])
def test_a_rule_that_is_served_has_a_test(rule: str) -> None:
    assert NAMING.get(rule)


@pytest.mark.parametrize("case", CASES)
def test_a_case_has_a_test(case: str) -> None:
    assert NAMING.get(case)


def test_no_test_names_a_rule_that_there_is_not() -> None:
    rules = {name: tests for name, tests in NAMING.items() if not name.startswith("C") or "-" in name}
    assert {name: tests for name, tests in rules.items() if name not in RULES} == {}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_says_what_it_asks_and_where_that_stands(rule: str) -> None:
    assert RULES[rule].keys() - {"owed"} == {"says", "source"}
    assert all(RULES[rule].values())
