"""Streams of callers who had to prove who they are."""

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from coatcheck.tasks_store import Owner, Patience, StoreSettings, TaskStore
from tests.streams.conftest import Work
from tests.streams.listener import Listener, listen_request
from tests.support.platform import Platform
from tests.support.valkey import Valkey
from tests.web.door import Door

ADA, BOB = Owner("acme", "ada"), Owner("acme", "bob")

TOKENS = {"ada-for-long": (ADA, 3600.0), "ada-for-a-while": (ADA, 8.0), "bob-for-long": (BOB, 3600.0)}


def entry(token: str, owner: Owner, seconds: float) -> str:
    """A token as the operator notes it down."""
    expires = (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()
    digest = hashlib.sha256(token.encode()).hexdigest()
    lines = [f'sha256 = "{digest}"', f'tenant = "{owner.tenant}"', f'principal = "{owner.principal}"']
    return "\n".join(["[[token]]", *lines, f"expires = {expires}"])


@pytest.fixture(scope="module")
def guarded() -> Iterator[Platform]:
    """A front door that lets in who has a token, for three streams each."""
    tokens = "\n".join(entry(token, owner, seconds) for token, (owner, seconds) in TOKENS.items())
    env = {"COATCHECK_AUTH": "tokens", "COATCHECK_TOKENS": tokens, "COATCHECK_STREAMS_PER_OWNER": "3"}
    with Platform(valkey=Valkey(), env=env) as platform:
        yield platform.start(workers=0)


@pytest.fixture
def work(guarded: Platform) -> Iterator[Work]:
    """The tasks behind the front door."""
    store = TaskStore(StoreSettings(redis_url=guarded.valkey.url), Patience.DOOR)
    yield Work(store)
    store.close()


def bearing(token: str) -> dict[str, str]:
    """The header that proves who a caller is."""
    return {"Authorization": f"Bearer {token}"}


def test_a_stream_ends_when_its_token_does_and_tells_nothing_after_that(guarded: Platform, work: Work) -> None:
    """C105: with its result, so that the client comes back with another token."""
    task_id = work.new(ADA)
    for_a_while = Listener(guarded.port, listen_request([task_id]), headers=bearing("ada-for-a-while")).begun()
    for_long = Listener(guarded.port, listen_request([task_id]), headers=bearing("ada-for-long")).begun()
    with for_a_while, for_long:
        for stream in (for_a_while, for_long):
            assert stream.acknowledged() == [task_id]
            stream.state()
        for_a_while.ended()
        work.run(task_id)
        assert for_long.state()["statusMessage"] == "Running"
    assert Door(guarded.port).post(listen_request([task_id]), headers=bearing("ada-for-a-while")).status == 401


def test_a_stream_is_for_whoever_owns_the_tasks(guarded: Platform, work: Work) -> None:
    """SUB-1, TASK-13"""
    task_id = work.new(ADA)
    with Listener(guarded.port, listen_request([task_id]), headers=bearing("bob-for-long")).begun() as stream:
        assert stream.acknowledged() == []
        stream.ended()
    assert Door(guarded.port).post(listen_request([task_id])).status == 401


def test_one_caller_cannot_take_the_streams_of_all(guarded: Platform, work: Work) -> None:
    """C39"""
    task_id, other = work.new(ADA), work.new(BOB)
    streams = [
        Listener(guarded.port, listen_request([task_id]), headers=bearing("ada-for-long")).begun() for _ in range(3)
    ]
    refused = Door(guarded.port).post(listen_request([task_id]), headers=bearing("ada-for-long"))
    assert refused.status == 429
    assert refused.headers["retry-after"]
    with Listener(guarded.port, listen_request([other]), headers=bearing("bob-for-long")).begun() as stream:
        assert stream.acknowledged() == [other]
    for stream in streams:
        stream.close()
