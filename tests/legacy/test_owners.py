"""Who may do what in the older era: the same as today."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from coatcheck.web.operations.tokens import entry_of, new_token
from tests.legacy.older import Older, accepted
from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.valkey import Valkey

WRITES = "tasks:write"

ENV = {
    "COATCHECK_AUTH": "tokens",
    "COATCHECK_METHOD_SCOPES": f"tasks/cancel={WRITES},tasks/update={WRITES},tasks/get=tasks:read",
    "COATCHECK_REQUESTS_PER_SECOND": "0",
    "COATCHECK_POLLS_PER_SECOND": "0",
    "COATCHECK_FAILURES_PER_MINUTE": "0",
}

HELD: dict[str, tuple[str, tuple[str, ...]]] = {
    "ann": ("acme", ("tasks:read", WRITES, "reports:read", "reports:write")),
    "ben": ("acme", ("tasks:read", WRITES, "reports:read", "reports:write")),
    "reader": ("acme", ("tasks:read",)),
    "nobody": ("acme", ()),
}

TOKENS = {name: new_token() for name in HELD}

Caller = Callable[[str], Older]


@pytest.fixture(scope="module")
def guarded() -> Iterator[Platform]:
    """A deployment whose callers have tokens."""
    entries = "\n".join(entry_of(TOKENS[name], tenant, name, scopes, None) for name, (tenant, scopes) in HELD.items())
    tools = "tests.auth.tools,tests.web.tools"
    with Platform(tools=tools, env={**ENV, "COATCHECK_TOKENS": entries}, valkey=Valkey()) as platform:
        yield platform.start(concurrency=2)


@pytest.fixture
def by(guarded: Platform) -> Iterator[Caller]:
    """A client of 2025-11-25 with the token of this name."""
    with ExitStack() as stack:
        yield lambda name: stack.enter_context(Older(guarded.url, headers={"Authorization": f"Bearer {TOKENS[name]}"}))


def test_without_a_token_nothing_is_said(guarded: Platform) -> None:
    """AUTH-1, OLD-1: not even to an initialize."""
    with Older(guarded.url, None) as stranger:
        for method in ("initialize", "ping", "tools/list", "tasks/list"):
            refused = stranger.request(method)
            assert refused.refusal == (401, 401)
            assert refused.headers["WWW-Authenticate"].startswith("Bearer")
        assert stranger.respond("input/x/y", {}).status == 401


def test_a_task_is_there_for_its_owner_alone(by: Caller, guarded: Platform) -> None:
    """TASK-10, TASK-13, OLD-1: another principal of the same tenant learns nothing, and changes nothing."""
    ann, ben = by("ann"), by("ben")
    task_id = ann.start("ask_page")
    ann.wait_for(task_id, "input_required")
    for method in ("tasks/get", "tasks/result", "tasks/cancel"):
        foreign, unknown = (ben.request(method, {"taskId": one}) for one in (task_id, "0" * 33))
        assert foreign.refusal == unknown.refusal == (200, -32602)
        assert foreign.body["error"] == unknown.body["error"]
    assert ben.respond(f"input/{task_id}/page", {"action": "accept"}).status == 202
    assert ann.get(task_id).result["status"] == "input_required"
    assert task_id in [task["taskId"] for task in ann.request("tasks/list").result["tasks"]]
    assert ben.request("tasks/list").result == {"tasks": []}
    with Client(guarded.url, headers={"Authorization": f"Bearer {TOKENS['ann']}"}) as today:
        assert today.get(task_id).result["status"] == "input_required"
    assert ann.respond(f"input/{task_id}/page", {"action": "decline"}).status == 202
    assert ann.outcome(task_id).text == "decline"


def test_the_older_methods_need_what_those_of_today_need(by: Caller) -> None:
    """AUTH-1, OLD-1: a result and a list what tasks/get needs, a response what tasks/update needs."""
    reader, nobody = by("reader"), by("nobody")
    task_id = reader.start("ask_page")
    reader.wait_for(task_id, "input_required")
    refused = reader.cancel(task_id)
    assert refused.refusal == (403, 403)
    assert WRITES in refused.headers["WWW-Authenticate"]
    answered = reader.respond(f"input/{task_id}/page", accepted())
    assert answered.refusal == (403, 403)
    assert reader.get(task_id).result["status"] == "input_required"
    for method in ("tasks/get", "tasks/result", "tasks/list"):
        assert nobody.request(method, {"taskId": task_id}).refusal == (403, 403)


def test_tools_that_a_caller_may_not_use_are_not_there(by: Caller) -> None:
    """AUTH-1, LIST-1: in lists of tools and of tasks, and a call is refused."""
    ann, reader = by("ann"), by("reader")
    hidden = {tool["name"] for tool in ann.request("tools/list").result["tools"]}
    hidden -= {tool["name"] for tool in reader.request("tools/list").result["tools"]}
    assert hidden
    assert all(reader.call(tool).refusal == (403, 403) for tool in hidden)
