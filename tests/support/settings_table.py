"""The table of settings, made from the docstrings of the settings themselves.

`python -m tests.support.settings_table` writes it into docs/configuration.md.
"""

import ast
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "configuration.md"
BEGIN, END = "<!-- settings, made by tests/support/settings_table.py -->", "<!-- end of settings -->"
SETTINGS = {
    "web/settings/web.py": "WebSettings",
    "web/settings/auth.py": "AuthSettings",
    "web/settings/limits.py": "LimitSettings",
    "tasks_store/settings.py": "StoreSettings",
    "workers/settings.py": "WorkerSettings",
    "launch/settings.py": "LaunchSettings",
}
_DOCUMENTED = re.compile(r"`([A-Z][A-Z0-9_]+)`[:;,]?\s*(.*)", re.DOTALL)


def rows() -> dict[str, tuple[str, str]]:
    """Default and meaning of every variable, in the order of the folders; the first that documents one wins."""
    found: dict[str, tuple[str, str]] = {}
    for path, name in SETTINGS.items():
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        for variable, default, meaning in _of_class(tree, name):
            found.setdefault(variable, (default, meaning))
            if not found[variable][1]:
                found[variable] = (found[variable][0], meaning)
    return found


def table() -> str:
    """The table in Markdown."""
    lines = ["| variable | default | |", "| --- | --- | --- |"]
    lines += [f"| `{variable}` | {default} | {meaning} |" for variable, (default, meaning) in rows().items()]
    return "\n".join(lines)


def _of_class(tree: ast.Module, name: str) -> Iterator[tuple[str, str, str]]:
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    for field, docstring in pairwise(body):
        if not isinstance(field, ast.AnnAssign) or not isinstance(docstring, ast.Expr):
            continue
        assert isinstance(docstring.value, ast.Constant)
        documented = _DOCUMENTED.match(" ".join(str(docstring.value.value).split()))
        if documented:
            yield documented[1], _default(field), documented[2]


def _default(field: ast.AnnAssign) -> str:
    assert isinstance(field.target, ast.Name)
    given = field.value
    if isinstance(given, ast.Call):  # field(default=…)
        given = next((keyword.value for keyword in given.keywords if keyword.arg == "default"), None)
    if given is None:
        return ""
    try:
        value = ast.literal_eval(given)
    except ValueError:
        value = eval(ast.unparse(given), {"__builtins__": {}})  # such as 8 * 1024 * 1024
    if field.target.id.endswith("_ms") and isinstance(value, int):
        return f"{value / 1000:g}"
    match value:
        case bool():
            return str(value).lower()
        case tuple():
            return ", ".join(map(str, value))
        case None | "":
            return ""
    return str(value)


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
