"""`COATCHECK_AUTH=tokens`: a file of digests, and who has the tokens that belong to them."""

import hashlib
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from coatcheck.tasks_store import Owner
from coatcheck.web.auth.challenge import Challenger
from coatcheck.web.auth.static_tokens import StaticTokens
from coatcheck.web.errors import InvalidWebSettings, Unauthenticated
from coatcheck.web.operations.tokens import entry_of, new_token
from coatcheck.web.protocol.caller import Caller
from coatcheck.web.settings.auth import AuthSettings
from coatcheck.web.settings.web import read_settings
from tests.auth.conftest import CalledBy, Tokens, client, start_door
from tests.support.platform import ROOT, Platform
from tests.support.waiting import wait_until

CHALLENGER = Challenger("", ())


def book_of(*entries: str) -> StaticTokens:
    """A book of these entries."""
    return StaticTokens(AuthSettings(mode="tokens", tokens="\n".join(entries)), CHALLENGER)


def test_a_token_is_known_by_its_digest() -> None:
    token = new_token()
    caller = book_of(entry_of(token, "acme", "ann", ["a", "b"], None)).caller_of(token)
    assert caller == Caller(Owner("acme", "ann"), frozenset({"a", "b"}))


def test_a_token_that_is_a_little_different_is_nobodys() -> None:
    token = new_token()
    book = book_of(entry_of(token, "acme", "ann", [], None))
    for other in (token[:-1], token + "a", token.upper(), "", new_token()):
        with pytest.raises(Unauthenticated):
            book.caller_of(other)


def test_a_token_is_good_until_it_expires() -> None:
    now = datetime.now(UTC)
    late, good = new_token(), new_token()
    book = book_of(
        entry_of(late, "", "ann", [], now - timedelta(seconds=1)),
        entry_of(good, "", "ann", [], now + timedelta(hours=1)),
    )
    assert book.caller_of(good).expires_s == pytest.approx((now + timedelta(hours=1)).timestamp(), abs=1)
    with pytest.raises(Unauthenticated):
        book.caller_of(late)


@pytest.mark.parametrize(
    "text",
    [
        "[[token]",
        "[token]",
        "tokens = []",
        '[[token]]\nprincipal = "ann"',
        '[[token]]\nsha256 = "SECRET"\nprincipal = "ann"',
        f'[[token]]\nsha256 = "{"A" * 64}"\nprincipal = "ann"',
        f'[[token]]\nsha256 = "{"a" * 64}"',
        f'[[token]]\nsha256 = "{"a" * 64}"\nprincipal = ""',
        f'[[token]]\nsha256 = "{"a" * 64}"\nprincipal = "ann"\nscopes = "all"',
        f'[[token]]\nsha256 = "{"a" * 64}"\nprincipal = "ann"\nexpires = "tomorrow"',
        f'[[token]]\nsha256 = "{"a" * 64}"\nprincipal = "ann"\nexpires = 2030-01-01T00:00:00',
        f'[[token]]\nsha256 = "{"a" * 64}"\nprincipal = "ann"\nadmin = true',
        f'[[token]]\nsha256 = "{"a" * 64}"\nprincipal = "ann"\nscopes = ["tasks:read tasks:write"]',
        f'[[token]]\nsha256 = "{"a" * 64}"\nprincipal = "ann"\nexpires = inf',
        "token = " + "[" * 20_000,
        "token = " + "9" * 5_000,
    ],
    ids=lambda text: text[-40:],
)
def test_entries_that_cannot_be_read_are_refused_at_the_start(text: str) -> None:
    """K2.4: and what cannot be read later changes nothing."""
    with pytest.raises(InvalidWebSettings, match=r"^COATCHECK_TOKENS ") as refused:
        book_of(text)
    assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize("environment", [{}, {"COATCHECK_TOKENS": ""}, {"COATCHECK_TOKENS_FILE": ""}])
def test_tokens_need_a_file_or_a_variable(environment: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"COATCHECK_AUTH": "tokens", **environment}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InvalidWebSettings, match=r"^COATCHECK_AUTH .*COATCHECK_TOKENS_FILE.*COATCHECK_TOKENS,"):
        read_settings()


def test_a_file_that_is_not_there_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(InvalidWebSettings, match=r"^COATCHECK_TOKENS_FILE "):
        StaticTokens(AuthSettings(mode="tokens", tokens_file=tmp_path / "none"), CHALLENGER)


def test_a_pipe_is_refused_instead_of_being_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "tokens.toml")
    with pytest.raises(InvalidWebSettings, match=r"^COATCHECK_TOKENS_FILE is not a regular file"):
        StaticTokens(AuthSettings(mode="tokens", tokens_file=tmp_path / "tokens.toml"), CHALLENGER)


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    """K3.7: as editors and shells of Windows write it."""
    token = new_token()
    file = tmp_path / "tokens.toml"
    file.write_text(entry_of(token, "", "ann", [], None), encoding="utf-8-sig")
    book = StaticTokens(AuthSettings(mode="tokens", tokens_file=file), CHALLENGER)
    assert book.caller_of(token).owner == Owner("", "ann")
    assert book_of("\ufeff" + entry_of(token, "", "ann", [], None)).caller_of(token).owner == Owner("", "ann")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_a_file_in_another_encoding_is_named_as_such(tmp_path: Path, encoding: str) -> None:
    """K3.7."""
    file = tmp_path / "tokens.toml"
    file.write_text(entry_of(new_token(), "", "ann", [], None), encoding=encoding)
    with pytest.raises(InvalidWebSettings, match=r"^COATCHECK_TOKENS_FILE is UTF-16 or UTF-32; save it as UTF-8"):
        StaticTokens(AuthSettings(mode="tokens", tokens_file=file), CHALLENGER)
    file.write_text('[[token]]\nprincipal = "Zoë"', encoding="latin-1")
    with pytest.raises(InvalidWebSettings, match=r"^COATCHECK_TOKENS_FILE is not UTF-8 from byte 25 on"):
        StaticTokens(AuthSettings(mode="tokens", tokens_file=file), CHALLENGER)


def test_the_command_makes_a_token_and_shows_it_apart_from_its_entry() -> None:
    """The entry can be appended to the file without keeping the token."""
    command = [
        sys.executable,
        "-m",
        "coatcheck.web.operations.tokens",
        "new",
        'ann "of" acmé\\',
        "--tenant",
        "acme",
        "--scope",
        "a",
    ]
    made = subprocess.run(
        [*command, "--scope", "b", "--days", "2"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    token = made.stderr.split()[-1]
    (entry,) = tomllib.loads(made.stdout)["token"]
    assert (entry["tenant"], entry["principal"], entry["scopes"]) == ("acme", 'ann "of" acmé\\', ["a", "b"])
    assert book_of(made.stdout).caller_of(token).owner == Owner("acme", 'ann "of" acmé\\')
    assert token not in made.stdout
    left = entry["expires"] - datetime.now(UTC)
    assert timedelta(days=1.9) < left <= timedelta(days=2)


def test_a_changed_file_is_read_again_and_a_broken_one_changes_nothing(platform: Platform, tmp_path: Path) -> None:
    """Without a restart: a new token works, a removed one no longer does."""
    tokens = Tokens(tmp_path / "tokens.toml")
    url = start_door(platform, COATCHECK_AUTH="tokens", COATCHECK_TOKENS_FILE=str(tokens.file))
    web = platform.webs[-1]
    with web, client(url, tokens.add("dora")) as dora:
        wait_until(lambda: dora.list().status == 200, 5.0, "the new token")
        replace(tokens.file, "[[token]\nbroken")
        wait_until(lambda: dora.list().status == 200 and "stay as they were" in web.log, 5.0, "the complaint")
        assert dora.list().status == 200
        replace(tokens.file, "")
        wait_until(lambda: dora.list().status == 401, 5.0, "the end of the token")


def test_a_new_token_of_the_same_principal_finds_its_tasks(
    by_token: CalledBy, tokens: Tokens, known_everywhere: Callable[[], None]
) -> None:
    old, new = by_token(tokens.add("emil")), by_token(tokens.add("emil"))
    known_everywhere()
    task_id = old.start("whoami")
    assert new.wait_for(task_id)["result"]["content"][0]["text"] == "acme/emil"


def replace(file: Path, text: str) -> None:
    """The file holds this text, from one moment to the next."""
    other = file.with_suffix(".new")
    other.write_text(text)
    other.replace(file)


def test_the_command_makes_a_token_and_the_entry_by_which_it_is_known() -> None:
    made = subprocess.run(
        [sys.executable, "-m", "coatcheck", "token", "new", "ann", "--tenant", "acme", "--scope", "reports:read"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    [entry] = tomllib.loads(made.stdout)["token"]
    token = made.stderr.split()[-1]
    assert entry == {
        "sha256": hashlib.sha256(token.encode()).hexdigest(),
        "tenant": "acme",
        "principal": "ann",
        "scopes": ["reports:read"],
    }
