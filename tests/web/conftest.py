"""One platform for all tests of the front door, and a second front door over the same store with other settings."""

from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest
from redis import Redis

from tests.support.client import WITH_TASKS, Client
from tests.support.platform import Platform
from tests.support.ports import free_port
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until
from tests.web.door import Door

TOOLS = "tests.conformance.tools,tests.web.tools"

ENV = {
    "WEB_CONCURRENCY": "2",
    "COATCHECK_KEEP_SECONDS": "3",
    "COATCHECK_MAX_RESULT_BYTES": "2000000",
    "COATCHECK_LOG_EXCEPTIONS": "whole",
}

NARROW = {
    "COATCHECK_PUBLIC_URL": "https://mcp.example.test",
    "COATCHECK_ALLOWED_ORIGINS": "https://app.example.test",
    "COATCHECK_MAX_BODY_BYTES": "4096",
    "COATCHECK_BODY_SECONDS": "0.5",
    "COATCHECK_SYNC_SECONDS": "1",
    "COATCHECK_PAGE_SIZE": "7",
    "COATCHECK_REQUIRE_TASK_NAME": "true",
    "COATCHECK_INSTRUCTIONS": "Ask nicely.",
    "COATCHECK_LEGACY": "off",
    "WEB_CONCURRENCY": "1",
}
"""Limits that a test can reach, a public name, and nothing for older clients."""


@pytest.fixture(scope="session")
def platform() -> Iterator[Platform]:
    """Front door and worker over a store of their own."""
    with Platform(tools=TOOLS, env=ENV, valkey=Valkey()) as platform:
        yield platform.start(concurrency=4)


@pytest.fixture(scope="session")
def door(platform: Platform) -> Door:
    """The front door with ordinary settings."""
    return Door(platform.port)


@pytest.fixture(scope="session")
def narrow(platform: Platform) -> Door:
    """Another front door of the same deployment, whose limits are narrow."""
    port = free_port()
    platform.start_web(port=port, env=NARROW)
    wait_until(lambda: _is_alive(port), 30.0, "the narrow front door")
    return Door(port)


@pytest.fixture
def client(platform: Platform) -> Iterator[Client]:
    """A client that can do everything."""
    with platform.client() as client:
        yield client


@pytest.fixture
def plain(platform: Platform) -> Iterator[Client]:
    """A client that can do everything but tasks."""
    capabilities = {name: value for name, value in WITH_TASKS.items() if name != "extensions"}
    with platform.client(capabilities=capabilities) as client:
        yield client


@pytest.fixture
def records(platform: Platform) -> Iterator[Redis]:
    """The store behind the front doors, to look into."""
    with closing(platform.valkey.client()) as client:
        yield client


def _is_alive(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/healthz", trust_env=False).status_code == 200
    except httpx.TransportError:
        return False
