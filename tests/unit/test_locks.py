"""The locked requirements hold for every Python that the project supports."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

LOCKS = ("requirements.txt", "requirements-dev.txt", "tests/client/peer/requirements.txt")


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_has_what_only_the_oldest_supported_python_needs(name: str) -> None:
    """K5.11: Debian 12 has Python 3.11.2, for which redis needs async-timeout."""
    lock = (ROOT / name).read_text(encoding="utf-8")
    assert "\nredis==" in lock
    assert re.search(r"^async-timeout==\S+ ; python_full_version < '3\.11\.3'", lock, re.MULTILINE)


def test_make_lock_makes_every_lock() -> None:
    """K5.11: a lock that is written by hand has only what one Python needs."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert [name for name in LOCKS if f"--output-file {name}\n" not in makefile] == []
