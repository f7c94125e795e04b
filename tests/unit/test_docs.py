"""The documentation is compared with the code where a machine can do so."""

import os
import re
import subprocess
import sys
from pathlib import Path

import coatcheck
from coatcheck import client
from coatcheck.client.command.exits import Exit
from coatcheck.web.errors import ERROR_TABLE
from tests.e2e.readme import blocks, code
from tests.support.settings_table import PAGE, ROOT, table

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CODE = ("web", "workers", "tasks_store", "client", "launch", "tests", "docs", "examples", "bench", "coatcheck")


def text_of(page: str) -> str:
    return (ROOT / "docs" / page).read_text(encoding="utf-8")


def test_the_table_of_settings_is_the_one_that_the_settings_make() -> None:
    assert table() in PAGE.read_text(encoding="utf-8")


def test_every_variable_that_is_read_is_in_the_table() -> None:
    sources = [path for folder in ("web", "workers", "tasks_store") for path in (ROOT / folder).rglob("*.py")]
    read = {name for path in sources for name in re.findall(r'"(COATCHECK_[A-Z_]+)"', path.read_text(encoding="utf-8"))}
    assert [name for name in sorted(read) if f"| `{name}` |" not in table()] == []


def test_every_relative_link_leads_to_a_file() -> None:
    link = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
    missing = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in link.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert missing == []


def test_every_path_of_code_that_a_page_names_exists() -> None:
    named = re.compile(rf"`((?:{'|'.join(CODE)})/[\w./-]*)`")
    missing = [
        f"{page.name}: {path}"
        for page in PAGES
        for path in named.findall(page.read_text(encoding="utf-8"))
        if not (ROOT / path).exists()
    ]
    assert missing == []


def test_every_page_is_in_the_index() -> None:
    linked = set(re.findall(r"\]\(([\w-]+\.md)\)", text_of("index.md")))
    assert linked == {page.name for page in (ROOT / "docs").glob("*.md")} - {"index.md"}


def test_the_page_of_errors_has_each_code_with_its_statuses() -> None:
    rows = re.findall(r"^\| `(-?\d+)` \| (\d{3}) \|", text_of("errors.md"), re.MULTILINE)
    assert {(int(code), int(status)) for code, status in rows} == {
        *((row.code, row.status) for row in ERROR_TABLE.values()),
        (-32603, 200),  # what error_responses gives any other exception
    }


def test_the_page_of_errors_has_each_exit_code() -> None:
    section = text_of("errors.md").partition("## Exit codes")[2]
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)] == list(Exit)


def test_the_reference_has_each_public_name() -> None:
    assert _headings("reference.md") == sorted(coatcheck.__all__)


def test_the_reference_of_the_client_has_each_public_name() -> None:
    assert _headings("client.md") == sorted(client.__all__)


def test_the_tests_that_the_page_on_testing_shows_pass(tmp_path: Path) -> None:
    (tmp_path / "mytools.py").write_text(code("Write a tool", "python"), encoding="utf-8")
    (shown,) = blocks(text_of("testing-tools.md"), "python")
    names = re.findall(r"^def (test_\w+)", shown, re.MULTILINE)
    calls = "".join(f"\n{name}()" for name in names)
    path = f"{tmp_path}{os.pathsep}{ROOT}"
    subprocess.run(
        [sys.executable, "-c", shown + calls], env={**os.environ, "PYTHONPATH": path}, check=True, timeout=60
    )


def _headings(page: str) -> list[str]:
    """Return the names that head a section of the third level, in order of the alphabet."""
    return sorted(re.findall(r"^### `(\w+)", text_of(page), re.MULTILINE))
