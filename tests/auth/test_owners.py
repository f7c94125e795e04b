"""One owner's tasks are nobody else's, whatever is known of them."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from redis import Redis

from tests.auth.conftest import RESOURCE, CalledBy, Tokens
from tests.auth.provider import Provider
from tests.support.client import Client, Json

UNKNOWN = "7" + "f" * 32
ACCEPT = {"sure": {"action": "accept", "content": {"yes": True}}}
PRINCIPALS = 20


def fill(client: Client, task_id: str) -> list[Json]:
    """What each method on tasks answers about this id, without its request id."""
    replies = [client.get(task_id), client.update(task_id, ACCEPT), client.cancel(task_id)]
    assert {reply.status for reply in replies} == {400}
    return [{**reply.body, "id": None} for reply in replies]


@pytest.fixture
def known(by_token: CalledBy, tokens: Tokens, known_everywhere: Callable[[], None]) -> Callable[..., Client]:
    """A client of this principal and tenant, once its token is known to every process."""

    def known(principal: str, tenant: str = "acme") -> Client:
        client = by_token(tokens.add(principal, tenant))
        known_everywhere()
        return client

    return known


def test_a_foreign_task_is_as_unknown_as_one_that_never_was(known: Callable[..., Client], records: Redis) -> None:
    """TASK-10, TASK-13, C74: to another principal, to the same name in another tenant, and nothing changes."""
    alice = known("alice")
    task_id = alice.start("confirm", {"what": "this"})
    alice.wait_for(task_id, "input_required")
    key = f"coatcheck:{{{task_id[0]}}}:task:{task_id}"
    before = alice.get(task_id).result, records.hgetall(key)
    for stranger in (known("bob"), known("alice", "other"), known("acme", "alice")):
        assert fill(stranger, task_id) == fill(stranger, UNKNOWN) == fill(stranger, "x")
        with stranger.listen(task_id, UNKNOWN) as messages:
            assert next(messages)["params"]["notifications"] == {"taskIds": []}
    assert (alice.get(task_id).result, records.hgetall(key)) == before


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Basic YWxpY2U6eA=="},
        {"Authorization": "Bearer a b"},
        {"Authorization": 'Bearer "x"'},
        {"Authorization": "Token x"},
        {"X-Tenant": "acme", "X-Principal": "alice"},
        {"Host": "acme.localhost"},
        {"Cookie": "token=x"},
    ],
    ids=str,
)
def test_no_token_is_no_better_than_a_bad_one(by_token: CalledBy, headers: dict[str, str]) -> None:
    """TASK-13, AUTH-4, C75: for every method, known or not."""
    client = by_token()
    for method, params in (
        ("server/discover", {}),
        ("tools/list", {}),
        ("tools/call", {"name": "greet", "arguments": {}}),
        ("tools/call", {"name": "nothing", "arguments": {}}),
        ("tasks/get", {"taskId": UNKNOWN}),
        ("tasks/update", {"taskId": UNKNOWN, "inputResponses": {}}),
        ("tasks/cancel", {"taskId": UNKNOWN}),
        ("subscriptions/listen", {"notifications": {"taskIds": [UNKNOWN]}}),
        ("initialize", {}),
        ("nothing", {}),
    ):
        reply = client.request(method, params, headers=headers)
        if "Host" in headers:
            assert reply.status == 403  # where the request was sent comes before who sent it
            continue
        assert (reply.status, reply.error["code"]) == (401, 401), method
        assert reply.headers["WWW-Authenticate"].startswith("Bearer ")
        assert "id" not in reply.body


@pytest.mark.parametrize("verb", ["GET", "DELETE", "PUT"])
def test_nothing_is_said_before_the_caller_is_known(token_door: str, verb: str) -> None:
    """C75: not even which verbs are taken, or that a body makes no sense."""
    assert httpx.request(verb, token_door, trust_env=False).status_code == 401
    assert (
        httpx.post(token_door, content=b"{", headers={"Content-Type": "text/html"}, trust_env=False).status_code == 401
    )


def test_equal_keys_of_two_tenants_are_two_calls(known: Callable[..., Client]) -> None:
    """C67, C75."""
    meta = {"io.coatcheck/idempotencyKey": "same"}
    ann, other = known("ann"), known("ann", "other")
    mine, theirs = (client.start("confirm", {"what": "x"}, meta=meta) for client in (ann, other))
    assert mine != theirs
    assert ann.start("confirm", {"what": "x"}, meta=meta) == mine
    assert fill(other, mine) == fill(other, UNKNOWN)


def test_twenty_principals_at_once_see_their_own_in_one_process(by_oauth: CalledBy, provider: Provider) -> None:
    """C24, C74: over all methods."""
    tokens = [provider.token(RESOURCE, sub=f"p{n}", org=f"t{n % 3}", scope="tasks:write") for n in range(PRINCIPALS)]
    see_their_own(list(map(by_oauth, tokens)))


def test_twenty_principals_at_once_see_their_own_across_two_processes(
    by_token: CalledBy, tokens: Tokens, known_everywhere: Callable[[], None]
) -> None:
    """C24, C74: the token door is served by two."""
    clients = [by_token(tokens.add(f"p{n}", f"t{n % 3}")) for n in range(PRINCIPALS)]
    known_everywhere()
    see_their_own(clients)


def see_their_own(clients: list[Client]) -> None:
    """Each of twenty callers works through all methods beside the others, and then knocks on every other one's door."""
    barrier = threading.Barrier(PRINCIPALS)

    def work(n: int) -> tuple[str, str]:
        client, others = clients[n], f"thing {n}"
        barrier.wait(60)
        asked = client.start("confirm", {"what": others})
        told = client.start("whoami")
        client.wait_for(asked, "input_required", timeout=60)
        with client.listen(asked, UNKNOWN) as messages:
            assert next(messages)["params"]["notifications"] == {"taskIds": [asked]}
            assert client.update(asked, ACCEPT).status == 200
            last = [message for message in messages if message.get("method") == "notifications/tasks"][-1]
            assert last["params"]["taskId"] == asked
        assert text_of(client.wait_for(asked, timeout=60)) == f"{others}: {{'yes': True}}"
        assert text_of(client.wait_for(told, timeout=60)) == f"t{n % 3}/p{n}"
        assert client.cancel(told).status == 200
        return asked, told

    with ThreadPoolExecutor(PRINCIPALS) as pool:
        tasks = list(pool.map(work, range(PRINCIPALS)))
        assert len(set(tasks)) == PRINCIPALS

        def knock(n: int) -> set[tuple[Any, ...]]:
            foreign = [task_id for m, ids in enumerate(tasks) if m != n for task_id in ids]
            return {(r.status, r.error["code"]) for r in map(clients[n].get, foreign)}

        assert set().union(*pool.map(knock, range(PRINCIPALS))) == {(400, -32602)}


def text_of(task: Json) -> str:
    """What the tool of a completed task said."""
    text: str = task["result"]["content"][0]["text"]
    return text
