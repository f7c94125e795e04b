"""Tests of what this machine may lack."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.needs import closing_line
from tests.support.platform import ROOT

LACKS = """
from tests.conftest import pytest_terminal_summary
from tests.support.needs import PACKAGES, program_of

PACKAGES["chromium"] = ("no-such-program",)
PACKAGES["curl"] = ("no-such-program",)

def test_pages(): program_of("chromium")
def test_requests(): program_of("curl")
def test_nothing(): pass
"""


@pytest.mark.parametrize(("ci", "code", "ended"), [("", 0, "1 passed, 2 skipped"), ("true", 1, "2 failed, 1 passed")])
def test_what_a_machine_lacks_skips_with_a_closing_line_and_fails_in_ci(
    tmp_path: Path, ci: str, code: int, ended: str
) -> None:
    (tmp_path / "test_lacking.py").write_text(LACKS)
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_terminal_summary\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:randomly", str(tmp_path)]
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "CI": ci}
    run = subprocess.run(command, cwd=tmp_path, env=env, check=False, capture_output=True, text=True)
    assert run.returncode == code, run.stdout
    assert ended in run.stdout
    assert ("apt-get install chromium curl" in run.stdout) == (not ci)


def test_nothing_is_said_of_other_skips() -> None:
    assert closing_line(["('file', 3, 'Skipped: of its own accord')"]) == ""
