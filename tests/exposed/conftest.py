"""A platform that exposes the tasks of two other applications, and the workers of those."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.exposed.environments import VERSIONS, python_with_celery
from tests.exposed.theirs import ODD, SHOP, TheirWorker, celery_url, odd_worker
from tests.support.client import Client
from tests.support.leaks import leaked_keys
from tests.support.platform import ROOT, Platform

SOON = {"COATCHECK_EXPOSE_SILENCE_SECONDS": "3", "COATCHECK_CANCEL_GRACE_SECONDS": "6"}
"""What is lost is given up within seconds, so that tests of it end."""


@pytest.fixture(scope="session")
def platform() -> Iterator[Platform]:
    """A running platform with one worker, whose store is the broker of everybody."""
    with Platform(tools="tests.exposed.tools", env=SOON) as platform:
        yield platform.start()


@pytest.fixture(scope="session", params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """A version of Celery that the other application has."""
    chosen: str = request.param
    return chosen


@pytest.fixture(scope="session")
def shop(platform: Platform, version: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TheirWorker]:
    """The worker of the example application, in its own environment."""
    url = celery_url(platform.valkey.url)
    folder = tmp_path_factory.mktemp("shop")
    python = python_with_celery(version)
    worker = TheirWorker(python, "shop", folder=folder, cwd=SHOP, broker=url, results=url, queue="shop")
    worker.start()
    yield worker
    worker.close()


@pytest.fixture(scope="session")
def odd_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The odd application with its copy of the one file that it has of us."""
    folder = tmp_path_factory.mktemp("odd")
    shutil.copy(ODD / "odd.py", folder)
    shutil.copy(ROOT / "workers" / "toolkit" / "celery_task_context.py", folder / "coatcheck_context.py")
    return folder


@pytest.fixture(scope="session")
def odd(platform: Platform, odd_folder: Path) -> Iterator[TheirWorker]:
    """A worker of the odd application with one process."""
    url = celery_url(platform.valkey.url)
    worker = odd_worker(odd_folder, broker=url, results=url)
    worker.start()
    yield worker
    worker.close()


@pytest.fixture
def client(platform: Platform) -> Iterator[Client]:
    """A client of the platform; fails a test that leaves keys of ours which would stay for ever."""
    with platform.client() as client:
        yield client
    with platform.valkey.client() as raw:
        assert [line for line in leaked_keys(raw) if line.startswith("coatcheck")] == []
