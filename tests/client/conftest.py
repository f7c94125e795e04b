"""A platform with the bundled tools, and a home of its own for every test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from coatcheck.client import Coatcheck
from coatcheck.client.ledger import Ledger
from tests.client.command import Command
from tests.support.platform import Platform


@pytest.fixture(scope="session")
def platform() -> Iterator[Platform]:
    """The bundled tools, served; no test stops it."""
    with Platform(tools="coatcheck.workers.tools,tests.client.tools") as platform:
        yield platform.start()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home folder: no profiles, no tickets, no settings of whoever runs the tests."""
    for name in ("URL", "TOKEN", "PROFILE", "LEDGER"):
        monkeypatch.delenv(f"COATCHECK_{name}", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


@pytest.fixture
def ledger(home: Path) -> Ledger:
    """The ledger that the client and the command use in this test."""
    path = home / "tickets.db"
    return Ledger(path)


@pytest.fixture
def coatcheck(platform: Platform, ledger: Ledger) -> Iterator[Coatcheck]:
    """A client of the platform."""
    with Coatcheck(platform.url, ledger=ledger.path) as coatcheck:
        yield coatcheck


@pytest.fixture
def command(platform: Platform, ledger: Ledger) -> Command:
    """The `coatcheck` command, pointed at the platform."""
    return Command({"COATCHECK_URL": platform.url, "COATCHECK_LEDGER": str(ledger.path)})
