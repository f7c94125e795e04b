"""The settings of a web process, read from the environment."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

import web.settings
from web.errors import InvalidSettings
from web.settings import WebSettings, read_settings


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine's settings is left."""
    for variable in variables():
        monkeypatch.delenv(variable, raising=False)


def variables() -> list[str]:
    """The variables that the docstrings of the settings name."""
    return re.findall(r'^    """`([A-Z_]+)`', Path(web.settings.__file__).read_text(), re.MULTILINE)


def test_every_setting_names_its_variable() -> None:
    assert len(variables()) == len(fields(WebSettings))


def test_an_empty_environment_gives_the_defaults() -> None:
    assert read_settings().web == WebSettings()


def test_lists_and_durations_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COATCHECK_ALLOWED_ORIGINS", "https://A.test/ , https://b.test")
    monkeypatch.setenv("COATCHECK_SYNC_SECONDS", "2.5")
    settings = read_settings().web
    assert settings.allowed_origins == ("https://a.test", "https://b.test")
    assert settings.sync_ms == 2500


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PORT", "0"),
        ("PORT", "http"),
        ("WEB_CONCURRENCY", "0"),
        ("COATCHECK_THREADS", "1"),
        ("COATCHECK_AUTH", "oauth"),
        ("COATCHECK_HOST", "0.0.0.0"),
        ("COATCHECK_PUBLIC_URL", "mcp.example.test"),
        ("COATCHECK_PUBLIC_URL", "http://["),
        ("COATCHECK_SECRET_KEY", "short"),
        ("COATCHECK_SYNC_SECONDS", "-1"),
        ("COATCHECK_PAGE_SIZE", "0"),
    ],
)
def test_a_fault_names_its_variable(variable: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """C90."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(InvalidSettings, match=f"^{variable} "):
        read_settings()


def test_all_faults_of_all_folders_come_together(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("PORT", "COATCHECK_LEASE_SECONDS", "COATCHECK_MAX_RUNS"):
        monkeypatch.setenv(variable, "x")
    with pytest.raises(InvalidSettings) as refused:
        read_settings()
    assert [line.split()[0] for line in str(refused.value).splitlines()] == [
        "COATCHECK_LEASE_SECONDS",
        "COATCHECK_MAX_RUNS",
        "PORT",
    ]


def test_another_address_needs_a_word_that_anybody_may_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COATCHECK_HOST", "0.0.0.0")
    monkeypatch.setenv("COATCHECK_ALLOW_ANONYMOUS", "true")
    assert read_settings().web.host == "0.0.0.0"
