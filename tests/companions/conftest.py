"""Front doors with companions: one for everybody, one whose calls wait no longer than a moment, one for tokens."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest
from redis import Redis

from tests.auth.conftest import Tokens, client, start_door
from tests.companions.calling import Companion
from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until

ALL = "list_tasks,task_status,task_answer"


@pytest.fixture(scope="session")
def platform() -> Iterator[Platform]:
    """A store and a worker; the front doors are started over them."""
    with Platform(tools="tests.companions.tools", valkey=Valkey()) as platform:
        platform.valkey.start()
        platform.start_worker(concurrency=4)
        yield platform


@pytest.fixture(scope="session")
def door(platform: Platform) -> str:
    """The address of a front door with every companion, for everybody."""
    return start_door(platform, COATCHECK_COMPANIONS=ALL)


@pytest.fixture(scope="session")
def hasty_door(platform: Platform) -> str:
    """The address of a front door that waits for nothing longer than a moment."""
    return start_door(platform, COATCHECK_COMPANIONS=ALL, COATCHECK_SYNC_SECONDS="0.3")


@pytest.fixture(scope="session")
def bare_door(platform: Platform) -> str:
    """The address of a front door without companions."""
    return start_door(platform)


@pytest.fixture(scope="session")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Tokens:
    """The token file of the front door that takes these."""
    return Tokens(tmp_path_factory.mktemp("tokens") / "tokens.toml")


@pytest.fixture(scope="session")
def token_door(platform: Platform, tokens: Tokens) -> str:
    """The address of a front door for whoever has a token of the file."""
    return start_door(
        platform,
        COATCHECK_AUTH="tokens",
        COATCHECK_TOKENS_FILE=str(tokens.file),
        COATCHECK_COMPANIONS=ALL,
        COATCHECK_OPERATOR_SCOPE="ops",
        COATCHECK_METHOD_SCOPES="tasks/update=tasks:write",
    )


@pytest.fixture
def clients() -> Iterator[ExitStack]:
    """Closes what a test opened."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def anybody(door: str, clients: ExitStack) -> Client:
    """A client of the open door that can do everything."""
    return clients.enter_context(Client(door))


@pytest.fixture
def plain(door: str, clients: ExitStack) -> Client:
    """A client of the open door that knows no tasks and can be asked nothing."""
    return clients.enter_context(Client(door, capabilities={}))


@pytest.fixture
def known(token_door: str, tokens: Tokens, clients: ExitStack) -> Callable[..., Client]:
    """A client of this principal and tenant, with these scopes, once the door knows it."""

    def known(principal: str, tenant: str = "acme", scopes: tuple[str, ...] = ("tasks:write",)) -> Client:
        found = clients.enter_context(client(token_door, tokens.add(principal, tenant, scopes)))
        wait_until(lambda: found.discover().status == 200, 20.0, "the token")
        return found

    return known


@pytest.fixture
def companion(anybody: Client) -> Companion:
    """The companions, called by a client of the open door."""
    return Companion(anybody)


@pytest.fixture
def records(platform: Platform) -> Iterator[Redis]:
    """The store behind the front doors, to look into."""
    with closing(platform.valkey.client()) as records:
        yield records
