"""What older clients answer: found by its id alone, and never an error for them."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.legacy.older import Older, accepted
from tests.support.client import Client, Json
from tests.support.platform import Platform
from tests.support.waiting import wait_until


@pytest.fixture
def parked(older: Older) -> Iterator[str]:
    """A task that waits for a person's data."""
    task_id = older.start("ask_person")
    older.wait_for(task_id, "input_required")
    yield task_id
    if older.get(task_id).result["status"] == "input_required":
        older.cancel(task_id)


def id_of(task_id: str, key: str | None = "person") -> str:
    """The id of the request that asks for this input."""
    return f"input/{task_id}/{key}"


def state(client: Client, task_id: str) -> Json:
    """All that a client of today sees of the task."""
    return client.get(task_id).result


@pytest.mark.parametrize(
    "id",
    [
        0,
        7,
        "",
        "x",
        "input",
        "input/",
        "input//",
        "input/TASK",
        "input/TASK/",
        "input/TASK/other",
        "input/TASK/person/x",
        "input/TASKx/person",
        "input/*/person",
        "other/TASK/person",
        "INPUT/TASK/person",
        " input/TASK/person",
        "input/TASK/persön",
        "input/" + "x" * 50_000,
    ],
)
def test_a_response_to_nothing_of_ours_is_accepted_and_changes_nothing(
    older: Older,
    client: Client,
    parked: str,
    id: object,  # noqa: A002
) -> None:
    """OLD-1."""
    before = state(client, parked)
    response_id = id.replace("TASK", parked) if isinstance(id, str) else id
    reply = older.respond(response_id, accepted(name="Ann", age=30))
    assert (reply.status, reply.messages) == (202, ())
    assert state(client, parked) == before


@pytest.mark.parametrize(
    "result",
    [
        None,
        7,
        "accept",
        [],
        {},
        {"action": "agree"},
        {"action": 1},
        {"action": "accept"},
        {"action": "accept", "content": []},
        {"action": "accept", "content": {"name": "Ann"}},
        {"action": "accept", "content": {"name": "Ann", "age": "old"}},
        {"action": "accept", "content": {"name": "Ann", "age": 7}},
        {"roots": []},
        {"action": "accept", "content": {"name": "x" * 300_000, "age": 30}},
    ],
    ids=range(14),
)
def test_a_response_that_does_not_fit_is_accepted_and_changes_nothing(
    older: Older, client: Client, parked: str, result: object
) -> None:
    """OLD-1."""
    before = state(client, parked)
    reply = older.respond(id_of(parked), result)
    assert (reply.status, reply.messages) == (202, ())
    assert state(client, parked) == before


def test_an_error_is_accepted_and_changes_nothing(older: Older, client: Client, parked: str) -> None:
    """OLD-1: the input is still open, for a client that can do better."""
    before = state(client, parked)
    error = {"jsonrpc": "2.0", "id": id_of(parked), "error": {"code": -32601, "message": "Method not found"}}
    assert older.send(error).status == 202
    assert older.send({"jsonrpc": "2.0", "error": {"code": -32600, "message": "What?"}}).status == 202
    assert state(client, parked) == before


def test_the_first_answer_stands(older: Older, client: Client, parked: str) -> None:
    """OLD-1, TASK-8: the same response twice, and another one after it."""
    answers: list[dict[str, Any]] = [accepted(name=name, age=30) for name in ("Ann", "Ann", "Bob")]
    assert {older.respond(id_of(parked), answer).status for answer in answers} == {202}
    ended = client.wait_for(parked)
    assert ended["result"]["structuredContent"]["content"] == {"name": "Ann", "age": 30}
    assert older.respond(id_of(parked), answers[2]).status == 202
    assert client.get(parked).result == ended


def test_many_responses_at_once_are_one_answer(platform: Platform, client: Client, parked: str) -> None:
    """OLD-1, OLD-2, TASK-8: to all web processes, and beside a client of today: the first that is stored stands."""
    names = [f"name {number}" for number in range(8)]
    barrier = threading.Barrier(len(names))

    def answer(number: int) -> int:
        with Older(platform.url) as older, platform.client() as today:
            older.request("ping")
            today.discover()
            barrier.wait()
            if number % 2:
                return today.update(parked, {"person": accepted(name=names[number], age=30)}).status
            return older.respond(id_of(parked), accepted(name=names[number], age=30)).status

    with ThreadPoolExecutor(len(names)) as pool:
        assert set(pool.map(answer, range(len(names)))) == {200, 202}
    content = client.wait_for(parked)["result"]["structuredContent"]["content"]
    assert content["name"] in names


def test_members_that_nobody_knows_are_ignored(older: Older, client: Client, parked: str) -> None:
    """RPC-5: the client's metadata among them."""
    meta = {"io.modelcontextprotocol/related-task": {"taskId": "another"}}
    older.respond(id_of(parked), {**accepted(name="Ann", age=30, extra=1), "_meta": meta, "unknown": 1})
    content = client.wait_for(parked)["result"]["structuredContent"]["content"]
    assert content == {"name": "Ann", "age": 30}


def test_part_of_the_answers_leaves_the_rest_open(older: Older, client: Client) -> None:
    """OLD-1, TASK-8."""
    task_id = older.start("two_at_once")
    older.wait_for(task_id, "input_required")
    older.respond(id_of(task_id, "second"), accepted(text="world"))
    assert state(client, task_id)["inputRequests"].keys() == {"first"}
    older.respond(id_of(task_id, "first"), accepted(text="hello"))
    assert client.wait_for(task_id)["result"]["content"][0]["text"] == "hello world"


def test_an_answer_that_its_author_refuses_is_asked_again_under_a_new_id(older: Older, client: Client) -> None:
    """OLD-1, TASK-8."""
    task_id = older.start("ask_checked")
    older.wait_for(task_id, "input_required")
    older.respond(id_of(task_id, "name"), accepted(name="root"))

    def asked_again() -> str | None:
        return next((key for key in state(client, task_id).get("inputRequests", {}) if key != "name"), None)

    older.respond(id_of(task_id, wait_until(asked_again, 20.0, "the second question")), accepted(name="Ann"))
    assert client.wait_for(task_id)["result"]["content"][0]["text"] == "Ann"
