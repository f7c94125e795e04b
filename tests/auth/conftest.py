"""Front doors for each way to prove who one is, over one store and one worker."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import pytest
from redis import Redis

from coatcheck.web.operations.tokens import entry_of, new_token
from tests.auth.provider import Provider
from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.ports import free_port
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until

PUBLIC_URL = "https://mcp.example.test"
RESOURCE = f"{PUBLIC_URL}/mcp"

METHODS = "tasks/cancel=tasks:write,tasks/update=tasks:write"

UNLIMITED = {
    "COATCHECK_REQUESTS_PER_SECOND": "0",
    "COATCHECK_POLLS_PER_SECOND": "0",
    "COATCHECK_FAILURES_PER_MINUTE": "0",
}
"""Tests ask faster than anybody should; tests/limits is about that."""

CalledBy = Callable[..., Client]
"""A client of one front door with this token, if any."""


class Tokens:
    """The token file of a deployment."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.count = 0
        file.touch()

    def add(self, principal: str, tenant: str = "acme", scopes: tuple[str, ...] = ("tasks:write",)) -> str:
        """A token that works once the file is read again."""
        token = new_token()
        with self.file.open("a") as entries:
            entries.write(entry_of(token, tenant, principal, scopes, None))
        self.count += 1
        return token


@pytest.fixture(scope="session")
def provider() -> Iterator[Provider]:
    """The provider of the front door that takes its tokens."""
    with Provider() as provider:
        yield provider


@pytest.fixture(scope="session")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Tokens:
    """The token file of the front door that takes these."""
    return Tokens(tmp_path_factory.mktemp("tokens") / "tokens.toml")


@pytest.fixture(scope="session")
def platform() -> Iterator[Platform]:
    """A store and a worker; the front doors are started over them."""
    with Platform(tools="tests.auth.tools", valkey=Valkey()) as platform:
        platform.valkey.start()
        platform.start_worker(concurrency=4)
        yield platform


@pytest.fixture(scope="session")
def token_door(platform: Platform, tokens: Tokens) -> str:
    """The address of a front door of two processes for whoever has a token of the file."""
    return start_door(
        platform,
        COATCHECK_AUTH="tokens",
        COATCHECK_TOKENS_FILE=str(tokens.file),
        COATCHECK_METHOD_SCOPES=METHODS,
        WEB_CONCURRENCY="2",
    )


@pytest.fixture(scope="session")
def oauth_door(platform: Platform, provider: Provider) -> str:
    """The address of a front door for whoever has a token of the provider."""
    return start_door(
        platform,
        COATCHECK_AUTH="oauth",
        COATCHECK_OAUTH_ISSUER=provider.issuer,
        COATCHECK_OAUTH_TENANT_CLAIM="org",
        COATCHECK_OAUTH_ALGORITHMS="RS256,ES256",
        COATCHECK_OAUTH_AUDIENCES="urn:other-name",
        COATCHECK_OAUTH_COOLDOWN_SECONDS="0.2",
        COATCHECK_METHOD_SCOPES=METHODS,
        COATCHECK_PUBLIC_URL=PUBLIC_URL,
    )


@pytest.fixture
def clients() -> Iterator[ExitStack]:
    """Closes what a test opened."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def by_token(token_door: str, clients: ExitStack) -> CalledBy:
    """A client of the front door that takes tokens of the file."""
    return lambda token=None, **options: clients.enter_context(client(token_door, token, **options))


@pytest.fixture
def by_oauth(oauth_door: str, clients: ExitStack) -> CalledBy:
    """A client of the front door that takes tokens of the provider."""
    return lambda token=None, **options: clients.enter_context(client(oauth_door, token, **options))


@pytest.fixture
def known_everywhere(token_door: str, tokens: Tokens, platform: Platform) -> Callable[[], None]:
    """Waits until both processes of that front door have read all tokens there are."""

    def known() -> bool:
        httpx.post(token_door, headers={"Authorization": "Bearer x"}, trust_env=False)  # whoever gets it takes a look
        logs = "".join(web.log for web in platform.webs)
        return logs.count(f"tokens known: {tokens.count}\n") >= 2

    def wait() -> None:
        wait_until(known, 20.0, "the tokens in both processes")

    return wait


@pytest.fixture
def records(platform: Platform) -> Iterator[Redis]:
    """The store behind the front doors, to look into."""
    with closing(platform.valkey.client()) as client:
        yield client


def start_door(platform: Platform, *, port: int | None = None, **env: str) -> str:
    """A front door with these settings answers at this address."""
    port = port or free_port()
    process = platform.start_web(port=port, env={**UNLIMITED, **env})

    def answers() -> bool:
        assert process.is_running, process.log
        try:
            return httpx.get(f"http://127.0.0.1:{port}/healthz", trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    wait_until(answers, 30.0, "the front door")
    return f"http://127.0.0.1:{port}/mcp"


def client(url: str, token: str | None, **options: object) -> Client:
    """A client that proves with this token who it is."""
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return Client(url, headers=headers, **options)  # type: ignore[arg-type]
