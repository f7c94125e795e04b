"""No error text of the client holds a token, and a token that cannot be sent is told so."""

import json
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from coatcheck.client import ClientError, Coatcheck
from coatcheck.client.command.exits import Exit
from coatcheck.client.errors import InvalidSettings
from coatcheck.client.ledger import Ledger
from coatcheck.client.settings import load_settings, profiles_path
from coatcheck.client.tokens import Token
from tests.client.command import Command
from tests.client.scripted import Asked, Error, Hangup, Raw, Result, Scripted, discovered
from tests.support.ports import free_port

SECRET = "coatcheck_MARKER-0123456789"

UNSENDABLE = [f"{SECRET}é", f"{SECRET}\n{SECRET}", f"{SECRET}\x7f", f"\x00{SECRET}", f"{SECRET}\udcff"]


@pytest.fixture
def command(ledger: Ledger) -> Command:
    """The command, pointed nowhere."""
    return Command({"COATCHECK_LEDGER": str(ledger.path)})


def echo(status: int = 400, code: int = -32602) -> Callable[[Asked], Error]:
    """A server that says in its error what it was sent."""
    return lambda asked: Error(code, f"no good: {asked.headers['authorization']}", status)


def echo_scope(asked: Asked) -> Raw:
    return Raw(403, headers={"WWW-Authenticate": f'Bearer scope="{asked.headers["authorization"]}"'})


def echo_status_line(asked: Asked) -> Raw:
    return Raw(200, json.dumps({"jsonrpc": "2.0", "id": asked.message_id, "result": SECRET}).encode())


FAILURES = [
    {"server/discover": Raw(401)},
    {"server/discover": echo()},
    {"server/discover": echo(code=-32022)},
    {"server/discover": Error(-32022, "no", data={"supported": [SECRET]})},
    {"server/discover": Hangup()},
    {"server/discover": Raw(503, headers={"Retry-After": "3600"})},
    {"server/discover": Raw(404, SECRET.encode(), {"Content-Type": "text/html"})},
    {"server/discover": Raw(500, SECRET.encode(), {"Content-Type": "text/html"})},
    {"server/discover": Raw(200, SECRET.encode(), {"Content-Type": "application/json"})},
    {"server/discover": Raw(200, b"x", {"Content-Type": "application/json", "Content-Encoding": "gzip"})},
    {"server/discover": echo_status_line},
    {"tools/list": echo_scope},
    {"tools/list": echo(code=-32603)},
    {"tools/list": Result({"resultType": "complete", "tools": SECRET})},
    {"tools/list": echo(), "server/discover": discovered(SECRET)},
]


@pytest.mark.parametrize("script", FAILURES)
def test_no_failure_of_a_server_makes_the_token_appear(
    command: Command, ledger: Ledger, script: dict[str, object]
) -> None:
    with (
        Scripted(script) as server,  # type: ignore[arg-type]
        Coatcheck(server.url, token=SECRET, ledger=ledger.path, patience_s=0.1, outage_s=0.1) as client,
    ):
        ticket = client.ticket("t-1")
        faults: list[str] = []
        for act in (client.discover, client.tools, partial(client.call, "brew"), ticket.status, ticket.wait):
            try:
                act()
            except ClientError as fault:
                faults.append(str(fault))
        assert faults
        assert SECRET not in "".join(faults)
        for arguments in (("wait", "t-1"), ("call", "brew"), ("call", "brew", "--json"), ("resume",)):
            ended = command(*arguments, "--timeout", "0.5", COATCHECK_URL=server.url, COATCHECK_TOKEN=SECRET)
            assert SECRET not in ended.out + ended.err


@pytest.mark.parametrize(
    "url", ["http://x.example/mcp", "https://127.0.0.1:{port}/mcp", "http://127.0.0.1:{port}/mcp", "x"]
)
def test_no_failure_on_the_way_makes_the_token_appear(command: Command, url: str) -> None:
    ended = command.process("tools", COATCHECK_URL=url.format(port=free_port()), COATCHECK_TOKEN=SECRET)
    assert ended.code in (Exit.UNREACHABLE, Exit.USAGE)
    assert SECRET not in ended.out + ended.err


@pytest.mark.parametrize("padded", [f"{SECRET}\n", f" {SECRET}", f"\t{SECRET}\r\n"])
def test_white_space_around_a_token_is_taken_off_wherever_it_is_read(
    home: Path, monkeypatch: pytest.MonkeyPatch, padded: str
) -> None:
    profiles_path().parent.mkdir(parents=True)
    profiles_path().write_text(
        f'[profiles.a]\nurl = "https://a.example/mcp"\ntoken = {json.dumps(padded)}\n'
        f'[profiles.b]\nurl = "https://b.example/mcp"\n'
        f"token_command = {json.dumps([sys.executable, '-c', f'print({padded!r})'])}\n"
    )
    assert load_settings(profile="a").chosen.token == SECRET
    printed = load_settings(profile="b").chosen.token
    assert callable(printed)
    assert printed() == SECRET
    monkeypatch.setenv("COATCHECK_TOKEN", padded)
    assert load_settings().chosen.token == SECRET


@pytest.mark.parametrize("given", [f"{SECRET}\n", lambda: f" {SECRET}\n"])
def test_and_for_programs(ledger: Ledger, given: Token) -> None:
    with Scripted({}) as server, Coatcheck(server.url, token=given, ledger=ledger.path) as client:
        client.discover()
        assert server.asked[0].headers["authorization"] == f"Bearer {SECRET}"


@pytest.mark.parametrize("token", UNSENDABLE[:3])
def test_a_token_that_no_header_can_carry_is_told_and_not_shown(command: Command, token: str) -> None:
    ended = command.process("tools", COATCHECK_TOKEN=token)
    assert (ended.code, ended.out) == (Exit.USAGE, "")
    assert "COATCHECK_TOKEN cannot be sent" in ended.err
    assert ended.err.count("\n") == 1
    assert "MARKER" not in ended.err


@pytest.mark.parametrize("token", UNSENDABLE)
def test_the_same_in_a_profile_and_for_programs(home: Path, ledger: Ledger, token: str) -> None:
    def fetched() -> str:
        return token

    with pytest.raises(InvalidSettings) as told:
        Coatcheck("https://a.example/mcp", token=token, ledger=ledger.path)
    with (
        Scripted({}) as server,
        Coatcheck(server.url, token=fetched, ledger=ledger.path) as client,
        pytest.raises(InvalidSettings) as asked,
    ):
        client.discover()
    texts = [str(told.value), str(asked.value)]
    if "\udcff" not in token:
        profiles_path().parent.mkdir(parents=True)
        profiles_path().write_text(
            f'[profiles.a]\nurl = "https://a.example/mcp"\ntoken = {json.dumps(token)}\n'.replace("\x7f", "\\u007f")
        )
        with pytest.raises(InvalidSettings, match=r"profiles\.a\.token cannot be sent") as written:
            load_settings()
        texts.append(str(written.value))
    assert all("MARKER" not in text for text in texts)


@pytest.mark.parametrize(
    "program",
    [
        f"print('{SECRET}'); import sys; sys.exit('cannot refresh {SECRET}')",
        f"import sys; sys.stdout.buffer.write(b'{SECRET}\\xff')",
        f"print('{SECRET}', chr(233))",
    ],
)
def test_a_token_command_that_fails_does_not_make_the_token_appear(command: Command, home: Path, program: str) -> None:
    profiles_path().parent.mkdir(parents=True)
    profiles_path().write_text(
        f'[profiles.a]\nurl = "http://127.0.0.1:1/mcp"\ntoken_command = {json.dumps([sys.executable, "-c", program])}\n'
    )
    ended = command.process("tools", "--profile", "a")
    assert (ended.code, ended.out) == (Exit.USAGE, "")
    assert ended.err
    assert "MARKER" not in ended.err


def test_a_token_command_that_takes_too_long_is_not_quoted(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coatcheck.client.settings.TOKEN_COMMAND_S", 0.01)
    profiles_path().parent.mkdir(parents=True)
    waits = [sys.executable, "-c", "input()", SECRET]
    profiles_path().write_text(f'[profiles.a]\nurl = "http://127.0.0.1:1/mcp"\ntoken_command = {json.dumps(waits)}\n')
    token = load_settings(profile="a").chosen.token
    assert callable(token)
    with pytest.raises(InvalidSettings) as caught:
        token()
    assert SECRET not in str(caught.value)


def test_an_error_is_one_of_ours_when_the_address_holds_what_is_no_host(command: Command) -> None:
    for url in ("http://x\u0301\u0300..y/mcp", "http://[::1/mcp", "http://" + "a" * 70 + "é.example/mcp"):
        with pytest.raises(ClientError):
            Coatcheck(url, token=SECRET).tools()
