"""What callers were granted, and what that lets them do."""

from collections.abc import Callable

import pytest

from tests.auth.conftest import METHODS, CalledBy, Tokens
from tests.support.client import Client, Reply

assert METHODS == "tasks/cancel=tasks:write,tasks/update=tasks:write"


@pytest.fixture
def reader(by_token: CalledBy, tokens: Tokens, known_everywhere: Callable[[], None]) -> Client:
    """Somebody who was granted nothing that matters."""
    token = tokens.add("carl", scopes=("tasks:read",))
    known_everywhere()
    return by_token(token)


@pytest.fixture
def writer(by_token: CalledBy, tokens: Tokens, known_everywhere: Callable[[], None]) -> Client:
    """The same principal with a token that was granted everything."""
    token = tokens.add("carl", scopes=("reports:read", "reports:write", "tasks:write"))
    known_everywhere()
    return by_token(token)


def insufficient(reply: Reply) -> str:
    """All the scopes that the refusal names."""
    assert (reply.status, reply.error["code"]) == (403, 403)
    challenge = reply.headers["WWW-Authenticate"]
    assert challenge.startswith('Bearer error="insufficient_scope", ')
    scopes = challenge.partition('scope="')[2].removesuffix('"')
    assert reply.error["data"] == {"scopes": scopes.split()}
    assert reply.body["id"]
    return scopes


def test_a_call_without_leave_names_all_that_it_takes(reader: Client) -> None:
    """AUTH-1, C104: the one that is missing and the one that is not, in one challenge."""
    assert insufficient(reader.call("secret_report")) == "reports:read reports:write"
    assert insufficient(reader.call("peek")) == "reports:read"


def test_methods_can_need_leave_too(reader: Client, writer: Client) -> None:
    """C104: nothing is cancelled or answered without it."""
    task_id = reader.start("confirm", {"what": "this"})
    reader.wait_for(task_id, "input_required")
    before = reader.get(task_id).result
    answer = {"sure": {"action": "accept", "content": {"yes": True}}}
    assert insufficient(reader.cancel(task_id)) == "tasks:write"
    assert insufficient(reader.update(task_id, answer)) == "tasks:write"
    assert reader.get(task_id).result == before
    assert writer.update(task_id, answer).status == 200
    assert writer.wait_for(task_id)["status"] == "completed"


def test_a_task_of_a_tool_without_leave_is_neither_shown_nor_cancelled(reader: Client, writer: Client) -> None:
    """TASK-13: a token that was granted less does not get by polling what it may not call."""
    task_id = writer.start("secret_report")
    assert writer.wait_for(task_id)["status"] == "completed"
    assert insufficient(reader.get(task_id)) == "reports:read reports:write"
    assert insufficient(reader.cancel(task_id)) == "tasks:write"


def test_the_list_shows_what_the_caller_may_use_and_is_private(reader: Client, writer: Client) -> None:
    """LIST-1, C65."""
    lists = {client: client.list().result for client in (reader, writer)}
    names = {client: [one["name"] for one in result["tools"]] for client, result in lists.items()}
    assert names[reader] == ["confirm", "greet", "whoami"]
    assert names[writer] == ["confirm", "greet", "peek", "secret_report", "whoami"]
    assert {result["cacheScope"] for result in lists.values()} == {"private"}
    assert reader.discover().result["cacheScope"] == "private"


def test_what_was_granted_may_be_done(writer: Client) -> None:
    assert writer.call("peek").result["content"][0]["text"] == "peeked"
