"""Streams of callers whose token the operator takes away meanwhile."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from coatcheck.tasks_store import Owner, Patience, StoreSettings, TaskStore
from coatcheck.web.operations.tokens import entry_of
from tests.legacy.older import Older
from tests.streams.conftest import Work
from tests.streams.listener import Listener, listen_request
from tests.support.platform import Platform
from tests.support.valkey import Valkey
from tests.web.door import Door

ADA = Owner("acme", "ada")


class Tokens:
    """The token file; a change is there from one moment to the next."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.write("kept", "taken", "narrowed")

    def write(self, *tokens: str, scopes: tuple[str, ...] = ("read",)) -> None:
        """These tokens are Ada's; `narrowed` has these scopes."""
        entries = [entry_of(token, *ADA_IS, scopes if token == "narrowed" else ["read"], None) for token in tokens]
        other = self.file.with_suffix(".new")
        other.write_text("\n".join(entries))
        other.replace(self.file)


ADA_IS = (ADA.tenant, ADA.principal)


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    """Ada's tokens."""
    return Tokens(tmp_path / "tokens.toml")


@pytest.fixture
def guarded(tokens: Tokens) -> Iterator[Platform]:
    """A front door that lets in who has one of them."""
    env = {"COATCHECK_AUTH": "tokens", "COATCHECK_TOKENS_FILE": str(tokens.file)}
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


def listening(platform: Platform, task_id: str, token: str) -> Listener:
    """A stream that has told how the task stands."""
    stream = Listener(platform.port, listen_request([task_id]), headers=bearing(token)).begun()
    assert stream.acknowledged() == [task_id]
    stream.state()
    return stream


def test_a_stream_ends_when_its_token_is_taken_away_and_tells_nothing_after_that(
    guarded: Platform, work: Work, tokens: Tokens
) -> None:
    """C105: as at the end of its time, with its result; other tokens of the same owner go on."""
    task_id = work.new(ADA)
    taken, kept = (listening(guarded, task_id, token) for token in ("taken", "kept"))
    with taken, kept:
        tokens.write("kept", "narrowed")
        assert taken.ended()["resultType"] == "complete"
        work.run(task_id)
        assert kept.state()["statusMessage"] == "Running"
    assert Door(guarded.port).post(listen_request([task_id]), headers=bearing("taken")).status == 401


def test_a_stream_ends_when_its_token_stands_for_something_else(guarded: Platform, work: Work, tokens: Tokens) -> None:
    """C105: what it was opened with is not what the token allows now; the client may come back and see."""
    task_id = work.new(ADA)
    with listening(guarded, task_id, "narrowed") as stream:
        tokens.write("kept", "taken", "narrowed", scopes=())
        assert stream.ended()["resultType"] == "complete"
    with listening(guarded, task_id, "narrowed") as stream:
        work.run(task_id)
        assert stream.state()["statusMessage"] == "Running"


def test_a_file_that_cannot_be_read_ends_no_stream(guarded: Platform, work: Work, tokens: Tokens) -> None:
    """C105: a slip of the operator's logs nobody out."""
    task_id = work.new(ADA)
    with listening(guarded, task_id, "kept") as stream:
        tokens.file.write_text("[[token]\nbroken")
        guarded.webs[0].wait_for_line("stay as they were")
        work.run(task_id)
        assert stream.state()["statusMessage"] == "Running"


def test_a_wait_for_a_result_ends_when_its_token_is_taken_away(guarded: Platform, work: Work, tokens: Tokens) -> None:
    """C105, OLD-1: with an error that tells the client to come back, and its token is refused then."""
    task_id = work.new(ADA)
    with Older(f"http://127.0.0.1:{guarded.port}/mcp", headers=bearing("taken")) as older:
        with older.stream("tasks/result", {"taskId": task_id}) as messages:
            tokens.write("kept", "narrowed")
            told = list(messages)
        assert json.dumps(told).count("error") == 1
        assert told[-1]["error"]["code"] == -32603
        assert older.get(task_id).status == 401
