"""The page of states and scripts names every script, and the method that sends it."""

import ast
import re
from collections.abc import Iterator

from tests.support.platform import ROOT

PAGE = ROOT / "docs" / "states-and-scripts.md"


def test_the_table_has_every_script_and_its_callers() -> None:
    sent: dict[str, set[str]] = {}
    for script, method in _senders():
        sent.setdefault(script, set()).add(method)
    scripts = {path.stem for path in (ROOT / "tasks_store" / "lua").rglob("*.lua")} - {"prelude"}
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([^|]+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    written = {script: set(re.findall(r"`([\w.]+)`", callers)) for script, callers in rows}
    assert written == sent
    assert set(written) == scripts


def _senders() -> Iterator[tuple[str, str]]:
    """Yield each script with a method that sends it."""
    for path in (ROOT / "tasks_store").glob("*.py"):
        for owner in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(owner, ast.ClassDef):
                for method in owner.body:
                    for name in re.findall(r"script\('(\w+)'\)", ast.unparse(method)):
                        yield name, f"{owner.name}.{getattr(method, 'name', '')}"
