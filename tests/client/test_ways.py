"""The way to a server that the environment names: proxies and certificates, each fault told in one sentence."""

from pathlib import Path

import pytest

from coatcheck.client import ClientError, Coatcheck
from coatcheck.client.command.exits import Exit
from coatcheck.client.errors import InvalidSettings, ProxyFailed
from coatcheck.client.ledger import Ledger
from coatcheck.client.proxies import proxy_to
from tests.client.command import Command
from tests.client.scripted import Scripted
from tests.client.test_bridge import host
from tests.support.ports import free_port

REMOTE = "https://coatcheck.example.com/mcp"

SETTINGS = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "ssl_cert_file", "ssl_cert_dir")


@pytest.fixture(autouse=True)
def no_settings_of_whoever_runs_the_tests(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def command(ledger: Ledger) -> Command:
    """The command, pointed nowhere."""
    return Command({"COATCHECK_LEDGER": str(ledger.path)})


UNUSABLE_PROXIES = ["socks5://127.0.0.1:1", "socks4://127.0.0.1:1", "ftp://user:hush@proxy", "http://[::1"]


@pytest.mark.parametrize("proxy", UNUSABLE_PROXIES)
def test_loopback_is_reached_without_a_proxy(command: Command, ledger: Ledger, proxy: str) -> None:
    """K5.1."""
    with Scripted({}) as server:
        for no_proxy in ("", "127.0.0.1"):
            told = command("discover", COATCHECK_URL=server.url, ALL_PROXY=proxy, NO_PROXY=no_proxy)
            assert (told.code, told.err) == (Exit.COMPLETED, ""), told


def test_the_bridge_reaches_loopback_without_a_proxy() -> None:
    """K5.1."""
    with Scripted({}) as server, host(server.url, ALL_PROXY="socks5://127.0.0.1:1") as bridged:
        bridged.ask("tools/list")
        assert bridged.read()["error"]["code"] == -32601


@pytest.mark.parametrize("proxy", UNUSABLE_PROXIES)
@pytest.mark.parametrize("variable", ["ALL_PROXY", "https_proxy"])
@pytest.mark.parametrize("arguments", [("tools",), ("doctor",), ("stdio",)])
def test_a_proxy_that_cannot_be_used_is_told_by_its_variable(
    command: Command, arguments: tuple[str, ...], variable: str, proxy: str
) -> None:
    """K5.1."""
    ended = command(*arguments, "--url", REMOTE, **{variable: proxy})
    said = ended.out + ended.err
    assert ended.code == Exit.USAGE, ended
    assert f"The proxy that {variable} names cannot be used" in said
    assert "hush" not in said


def test_a_server_that_needs_no_proxy_is_reached_whatever_the_proxy_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """K5.1."""
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    for no_proxy in ("*", "example.com", ".example.com", "10.0.0.0/8, coatcheck.example.com"):
        monkeypatch.setenv("NO_PROXY", no_proxy)
        assert proxy_to(REMOTE) is None
        Coatcheck(REMOTE).close()
    assert proxy_to("https://10.1.2.3/mcp") is None
    assert proxy_to("https://11.1.2.3/mcp") is not None


def test_programs_get_an_error_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """K5.1."""
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:1")
    with pytest.raises(ClientError, match="ALL_PROXY"):
        Coatcheck(REMOTE)


def test_a_proxy_that_does_not_answer_is_told_and_not_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """K5.1."""
    monkeypatch.setenv("HTTPS_PROXY", f"http://user:hush@127.0.0.1:{free_port()}")
    with Coatcheck(REMOTE) as client, pytest.raises(ProxyFailed, match="The proxy that HTTPS_PROXY names") as caught:
        client.discover()
    assert "hush" not in str(caught.value)


def test_a_proxy_that_refuses_is_told_by_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """K5.1: here a server that knows no CONNECT."""
    with Scripted({}) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url.removesuffix("/mcp"))
        with Coatcheck(REMOTE) as client, pytest.raises(ProxyFailed, match="HTTPS_PROXY"):
            client.discover()


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_certificates_that_are_not_there_are_told_by_their_variable(command: Command, variable: str) -> None:
    """K5.1."""
    for arguments in (("tools",), ("stdio",)):
        ended = command(*arguments, "--url", REMOTE, **{variable: "/nowhere/authority"})
        assert (ended.code, ended.out) == (Exit.USAGE, "")
        assert f"The certificates that {variable} names, /nowhere/authority, cannot be read" in ended.err


def test_a_file_without_a_certificate_is_told_by_its_variable(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """K5.1."""
    (home / "authority.pem").write_text("nothing")
    monkeypatch.setenv("SSL_CERT_FILE", str(home / "authority.pem"))
    with pytest.raises(InvalidSettings, match=r"SSL_CERT_FILE names, .*authority\.pem, cannot be read: it holds no"):
        Coatcheck(REMOTE)


def test_a_key_log_that_cannot_be_written_is_told_by_its_variable(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """Python opens it with a context for TLS."""
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(home))
    monkeypatch.setenv("SSLKEYLOGFILE", "/nowhere/keys")
    with pytest.raises(InvalidSettings, match="SSLKEYLOGFILE names, /nowhere/keys, cannot be written"):
        Coatcheck(REMOTE)


def test_certificates_do_not_matter_where_no_tls_is_spoken(monkeypatch: pytest.MonkeyPatch) -> None:
    """K5.1."""
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/authority")
    with Scripted({}) as server, Coatcheck(server.url) as client:
        assert client.discover()
