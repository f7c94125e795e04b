"""The settings of a web process, read from the environment."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from coatcheck.web.app import create_app
from coatcheck.web.errors import InvalidWebSettings
from coatcheck.web.settings import auth, limits, web
from coatcheck.web.settings.auth import METHODS, AuthSettings
from coatcheck.web.settings.limits import LimitSettings
from coatcheck.web.settings.web import WebSettings, read_settings


@pytest.fixture(autouse=True)
def empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of this machine's settings is left."""
    for variable in variables():
        monkeypatch.delenv(variable, raising=False)


def variables() -> list[str]:
    """The variables that the docstrings of the settings name."""
    modules = (web, auth, limits)
    texts = [Path(str(module.__file__)).read_text() for module in modules]
    return [name for text in texts for name in re.findall(r'^    """`([A-Z_]+)`', text, re.MULTILINE)]


def test_every_setting_names_its_variable() -> None:
    everything = [*fields(WebSettings), *fields(AuthSettings), *fields(LimitSettings)]
    assert len(variables()) == len(set(variables())) == len(everything)


def test_an_empty_environment_gives_the_defaults() -> None:
    settings = read_settings()
    assert (settings.web, settings.auth, settings.limits) == (WebSettings(), AuthSettings(), LimitSettings())


def test_lists_and_durations_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COATCHECK_ALLOWED_ORIGINS", "https://A.test/ , https://b.test")
    monkeypatch.setenv("COATCHECK_SYNC_SECONDS", "2.5")
    monkeypatch.setenv("COATCHECK_COMPANIONS", " task_status, list_tasks,,task_status")
    settings = read_settings().web
    assert settings.allowed_origins == ("https://a.test", "https://b.test")
    assert settings.sync_ms == 2500
    assert settings.companions == ("task_status", "list_tasks")


@pytest.mark.parametrize("variable", ["COATCHECK_INSTRUCTIONS", "COATCHECK_SECRET_KEY", "COATCHECK_METRICS_TOKEN"])
def test_bytes_that_no_answer_or_key_can_hold_are_refused_at_the_start(
    variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python keeps what is not UTF-8 as halves of surrogate pairs, which fail where they are first encoded."""
    monkeypatch.setenv(variable, b"caf\xe9".decode(errors="surrogateescape") * 10)
    with pytest.raises(InvalidWebSettings, match=f"{variable} holds bytes that are not UTF-8 text"):
        read_settings()


def test_an_unknown_companion_is_named_beside_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COATCHECK_COMPANIONS", "list_tasks,task_result")
    with pytest.raises(InvalidWebSettings, match="list_tasks, task_status, task_answer; there is no task_result"):
        read_settings()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PORT", "0"),
        ("PORT", "http"),
        ("WEB_CONCURRENCY", "0"),
        ("COATCHECK_WAITING_CALLS", "0"),
        ("COATCHECK_AUTH", "basic"),
        ("COATCHECK_OAUTH_JWKS_URL", "http://id.example.test/keys"),
        ("COATCHECK_OAUTH_ALGORITHMS", "RS256,HS256"),
        ("COATCHECK_OAUTH_ALGORITHMS", "none"),
        ("COATCHECK_OAUTH_COOLDOWN_SECONDS", "0"),
        ("COATCHECK_REQUESTS_PER_SECOND", "-1"),
        ("COATCHECK_TASKS_PER_OWNER", "1.5"),
        ("COATCHECK_TRUSTED_PROXIES", "10.0.0.0/8,proxy"),
        ("COATCHECK_ENCRYPTION_KEYS", "c2hvcnQ="),
        ("COATCHECK_HOST", "0.0.0.0"),
        ("COATCHECK_PUBLIC_URL", "mcp.example.test"),
        ("COATCHECK_PUBLIC_URL", "http://["),
        ("COATCHECK_SECRET_KEY", "short"),
        ("COATCHECK_SYNC_SECONDS", "-1"),
        ("COATCHECK_PAGE_SIZE", "0"),
        ("COATCHECK_COMPANIONS", "list_tasks,task_result"),
        ("COATCHECK_OPERATOR_SCOPE", "two scopes"),
        ("COATCHECK_OPERATOR_SCOPE", 'a"quote'),
        ("COATCHECK_MAX_HEADER_BYTES", "1000"),
        ("COATCHECK_MAX_HEADER_BYTES", "100000"),
        ("COATCHECK_SCOPES", 'tasks:read,a"quote'),
        ("COATCHECK_METHOD_SCOPES", "tools/call=aé"),
        ("COATCHECK_METHOD_SCOPES", "tools/call"),
        ("COATCHECK_METHOD_SCOPES", "tools/call:tools:call"),
        ("COATCHECK_METHOD_SCOPES", "tools/cal=tools:call"),
        ("COATCHECK_OAUTH_PRINCIPAL_CLAIM", ""),
        ("COATCHECK_OAUTH_PRINCIPAL_CLAIM", 'a"quote'),
        ("COATCHECK_OAUTH_TENANT_CLAIM", "a\nline"),
        ("COATCHECK_OAUTH_SCOPE_CLAIM", "é"),
        ("COATCHECK_PUBLIC_URL", "https://é.example.test"),
        ("COATCHECK_PUBLIC_URL", 'https://mcp.example.test/"quote'),
    ],
)
def test_a_fault_names_its_variable(variable: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """C90."""
    monkeypatch.setenv(variable, value)
    with pytest.raises(InvalidWebSettings, match=f"^{variable} "):
        read_settings()


def test_every_method_can_need_scopes() -> None:
    app: Any = create_app(read_settings()).wsgi_app
    assert app._methods == set(METHODS)


def test_all_faults_of_all_folders_come_together(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("PORT", "COATCHECK_LEASE_SECONDS", "COATCHECK_MAX_RUNS"):
        monkeypatch.setenv(variable, "x")
    with pytest.raises(InvalidWebSettings) as refused:
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
