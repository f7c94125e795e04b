"""Which server is meant, and that its token goes nowhere else."""

import os
import sys
from pathlib import Path

import pytest

from coatcheck.client import Coatcheck
from coatcheck.client.errors import InvalidSettings, TokenInTheClear
from coatcheck.client.settings import DEFAULT_URL, load_settings, profiles_path

PROFILES = """
default = "work"
[profiles.work]
url = "https://work.example.com/mcp"
token = "from work"
keep_arguments = true
[profiles.home]
url = "https://home.example.com/mcp"
"""


@pytest.fixture(autouse=True)
def folders(home: Path) -> None:
    """The home folder is empty."""


def write(text: str) -> None:
    profiles_path().parent.mkdir(parents=True, exist_ok=True)
    profiles_path().write_text(text)


def test_without_anything_the_server_of_make_run_is_meant() -> None:
    chosen = load_settings().chosen
    assert (chosen.url, chosen.token) == (DEFAULT_URL, None)


def test_the_environment_names_server_and_token(monkeypatch: pytest.MonkeyPatch) -> None:
    write(PROFILES)
    monkeypatch.setenv("COATCHECK_URL", "https://other.example.com/mcp")
    monkeypatch.setenv("COATCHECK_TOKEN", "secret")
    chosen = load_settings().chosen
    assert (chosen.url, chosen.token) == ("https://other.example.com/mcp", "secret")


def test_the_default_profile_is_taken_when_nothing_else_is_named() -> None:
    write(PROFILES)
    chosen = load_settings().chosen
    assert (chosen.url, chosen.token, chosen.keep_arguments) == ("https://work.example.com/mcp", "from work", True)


def test_a_profile_that_is_named_outright_goes_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    write(PROFILES)
    monkeypatch.setenv("COATCHECK_URL", "https://other.example.com/mcp")
    monkeypatch.setenv("COATCHECK_TOKEN", "for the other server")
    chosen = load_settings(profile="home").chosen
    assert (chosen.url, chosen.token) == ("https://home.example.com/mcp", None)


def test_an_address_of_a_profile_brings_the_profiles_token() -> None:
    write(PROFILES)
    assert load_settings("https://work.example.com/mcp").chosen.token == "from work"


def test_a_token_goes_to_no_other_server(monkeypatch: pytest.MonkeyPatch) -> None:
    write(PROFILES)
    monkeypatch.setenv("COATCHECK_TOKEN", "for home")
    settings = load_settings("https://home.example.com/mcp")
    assert settings.profile_for("https://home.example.com/mcp").token == "for home"
    assert settings.profile_for("https://work.example.com/mcp").token == "from work"
    assert settings.profile_for("https://stranger.example.com/mcp").token is None


def test_a_token_command_is_run_and_its_failure_told() -> None:
    quoted = sys.executable.replace("\\", "\\\\")
    write(f"""
[profiles.good]
url = "https://a.example.com/mcp"
token_command = ["{quoted}", "-c", "print('fresh')"]
[profiles.bad]
url = "https://b.example.com/mcp"
token_command = ["{quoted}", "-c", "raise SystemExit('log in first')"]
[profiles.missing]
url = "https://c.example.com/mcp"
token_command = ["/nowhere/login"]
[profiles.silent]
url = "https://d.example.com/mcp"
token_command = ["{quoted}", "-c", ""]
""")
    tokens = {name: profile.token for name, profile in load_settings().profiles.items()}
    assert all(callable(token) for token in tokens.values())
    assert tokens["good"]() == "fresh"
    for name, words in (("bad", "log in first"), ("missing", "did not run"), ("silent", "printed no token")):
        with pytest.raises(InvalidSettings, match=words):
            tokens[name]()


def test_a_token_command_takes_nothing_from_standard_input() -> None:
    """What comes there are the arguments of a call, or the messages of a host."""
    write('[profiles.a]\nurl = "https://a.example.com/mcp"\ntoken_command = ["sh", "-c", "cat; echo token"]')
    ours, theirs = os.pipe()
    stdin = os.dup(0)
    try:
        os.write(theirs, b"a message")
        os.close(theirs)
        os.dup2(ours, 0)
        token = load_settings(profile="a").chosen.token
        assert callable(token)
        assert token() == "token"
        assert os.read(0, 100) == b"a message"
    finally:
        os.dup2(stdin, 0)
        os.close(stdin)
        os.close(ours)


def test_every_fault_of_the_profiles_is_told_at_once() -> None:
    write(
        'default = 1\n[profiles.a]\nurl = 7\ncolour = "red"\n[profiles.b]\nurl = "x"\ntoken = "t"\ntoken_command = []'
    )
    with pytest.raises(InvalidSettings) as caught:
        load_settings()
    for words in ("default", "profiles.a.url", "profiles.a.colour", "profiles.b.token_command", "a token and a"):
        assert words in str(caught.value)


@pytest.mark.parametrize(
    "text", ["= nonsense", "profiles = 3", "[profiles]\nwork = 3", f"a = {'1' * 5000}", f"a = {'[' * 5000}"]
)
def test_profiles_that_make_no_sense_are_named(text: str) -> None:
    write(text)
    with pytest.raises(InvalidSettings, match=r"profiles\.toml"):
        load_settings()


def test_an_unknown_profile_is_told_which_there_are() -> None:
    write(PROFILES)
    with pytest.raises(InvalidSettings, match="work, home"):
        load_settings(profile="school")


@pytest.mark.parametrize(
    "url", ["localhost:8000", "ftp://a.example/mcp", "https://", "http://[", "https://a:b@c.example"]
)
def test_an_address_that_is_none_is_refused_before_anything_is_sent(url: str) -> None:
    with pytest.raises(InvalidSettings):
        Coatcheck(url)


def test_a_token_is_not_sent_in_the_clear() -> None:
    with pytest.raises(TokenInTheClear):
        Coatcheck("http://coatcheck.example.com/mcp", token="secret")
    for host in ("127.0.0.1", "localhost", "[::1]"):
        Coatcheck(f"http://{host}:8000/mcp", token="secret").close()


def test_profiles_that_an_editor_has_marked_are_read(home: Path) -> None:
    """K5.1: with a byte order mark."""
    profiles_path().parent.mkdir(parents=True)
    profiles_path().write_text('default = "a"\n[profiles.a]\nurl = "https://a.example/mcp"\n', encoding="utf-8-sig")
    assert load_settings().chosen.url == "https://a.example/mcp"


def test_profiles_in_another_encoding_are_told_as_such(home: Path) -> None:
    """K5.1."""
    profiles_path().parent.mkdir(parents=True)
    profiles_path().write_text('default = "a"\n', encoding="utf-16")
    with pytest.raises(InvalidSettings, match=r"profiles\.toml are not UTF-8 text"):
        load_settings()
