"""The README tells the truth where a machine can compare it with the code."""

import re

from tests.support.settings_table import README, ROOT, table


def test_the_table_of_settings_is_the_one_that_the_settings_make() -> None:
    assert table() in README.read_text(encoding="utf-8")


def test_every_variable_that_is_read_is_in_the_table() -> None:
    sources = [path for folder in ("web", "workers", "tasks_store") for path in (ROOT / folder).rglob("*.py")]
    read = {name for path in sources for name in re.findall(r'"(COATCHECK_[A-Z_]+)"', path.read_text(encoding="utf-8"))}
    assert [name for name in sorted(read) if f"| `{name}` |" not in table()] == []


def test_every_page_that_the_readme_links_is_there() -> None:
    linked = re.findall(r"\]\(([a-z][^):]*)\)", README.read_text(encoding="utf-8"))
    assert [page for page in linked if not (ROOT / page).exists()] == []
