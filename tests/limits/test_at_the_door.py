"""Limits as callers meet them: with an error of their own, a time to come back, and nobody else affected."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from redis import Redis

from tests.auth.conftest import Tokens, client, start_door
from tests.support.client import Client, Reply
from tests.support.platform import Platform
from tests.support.valkey import Valkey

BODY = 60_000


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    """A store without a worker: what is asked for stays to be done."""
    with Platform(tools="tests.auth.tools", valkey=Valkey()) as platform:
        platform.valkey.start()
        yield platform


@pytest.fixture
def opened(platform: Platform, tmp_path: Path) -> Iterator["Opened"]:
    """Makes front doors with limits, and clients of them."""
    platform.valkey.client().flushall()
    with ExitStack() as stack:
        yield Opened(platform, Tokens(tmp_path / "tokens.toml"), stack)


class Opened:
    """Front doors for the callers of one token file."""

    def __init__(self, platform: Platform, tokens: Tokens, stack: ExitStack) -> None:
        self._platform = platform
        self._stack = stack
        self._tokens = {name: tokens.add(name.partition("@")[0], name.partition("@")[2]) for name in NAMES}
        self._file = tokens.file

    def door(self, **limits: str) -> str:
        """The address of a front door with these limits."""
        env = {"COATCHECK_AUTH": "tokens", "COATCHECK_TOKENS_FILE": str(self._file), **limits}
        url = start_door(self._platform, port=None, **env)
        self._stack.enter_context(self._platform.webs[-1])
        return url

    def client(self, url: str, name: str | None) -> Client:
        """A caller."""
        return self._stack.enter_context(client(url, self._tokens[name] if name else None))


NAMES = ("ann@acme", "bob@acme", "eve@other")


def limited(reply: Reply) -> str:
    """What a caller is told who has reached a limit."""
    assert (reply.status, reply.error["code"]) == (429, 429), reply
    assert int(reply.headers["Retry-After"]) > 0
    message: str = reply.error["message"]
    return message


def until_limited(call: object, most: int = 1_000) -> tuple[int, Reply]:
    """How many calls went well, and the first that did not."""
    for count in range(most):
        reply = call()  # type: ignore[operator]
        if reply.status == 429:
            return count, reply
    raise AssertionError(f"no limit after {most} calls")


def test_requests_of_one_owner_are_limited_and_of_another_are_not(opened: Opened) -> None:
    """C92: with the id of the request, so that the client knows which one."""
    url = opened.door(COATCHECK_REQUESTS_PER_SECOND="5")
    ann, bob = opened.client(url, "ann@acme"), opened.client(url, "bob@acme")
    count, reply = until_limited(ann.list)
    assert 7 <= count <= 40
    assert limited(reply) == "Too many requests"
    assert reply.body["id"] is not None
    assert bob.list().status == 200


def test_a_subscription_counts_as_what_it_costs(opened: Opened) -> None:
    """K1.6: a hundred tasks are a hundred requests."""
    url = opened.door(COATCHECK_REQUESTS_PER_SECOND="60")
    ann, bob = opened.client(url, "ann@acme"), opened.client(url, "bob@acme")
    unknown = {"notifications": {"taskIds": [f"{number:033x}" for number in range(100)]}}
    count, reply = until_limited(lambda: ann.request("subscriptions/listen", unknown))
    assert count <= 2
    assert limited(reply) == "Too many requests"
    assert bob.request("subscriptions/listen", {"notifications": {"taskIds": []}}).status == 200


def test_the_limit_holds_over_several_front_doors(opened: Opened) -> None:
    """As it does over the processes of one: they share a store."""
    urls = [opened.door(COATCHECK_REQUESTS_PER_SECOND="2") for _ in range(2)]
    counts = [until_limited(opened.client(url, "ann@acme").list)[0] for url in urls]
    assert sum(counts) <= 4 + 2 + 8  # the shares of both, what they share, and what came in meanwhile


def test_polls_of_one_task_are_limited_and_the_first_is_always_served(opened: Opened) -> None:
    """C92, TASK-12: other tasks and other callers go on, and nothing changes."""
    url = opened.door(COATCHECK_POLLS_PER_SECOND="3", COATCHECK_REQUESTS_PER_SECOND="0")
    ann = opened.client(url, "ann@acme")
    polled, other = ann.start("whoami"), ann.start("whoami")
    first = ann.get(polled).result
    count, reply = until_limited(lambda: ann.get(polled))
    assert count >= 2
    assert limited(reply) == "This task is polled too often"
    assert reply.body["id"] is not None
    assert ann.get(other).status == 200
    assert ann.list().status == 200
    assert ann.cancel(polled).status == 200
    assert first["status"] == "working"


def test_requests_without_a_token_are_limited_by_address_and_hinder_nobody_who_has_one(opened: Opened) -> None:
    """C75: whoever shares the address and can prove who they are is served."""
    url = opened.door(COATCHECK_FAILURES_PER_MINUTE="120")
    stranger, ann = opened.client(url, None), opened.client(url, "ann@acme")
    count, reply = until_limited(stranger.list)
    assert count >= 240
    assert limited(reply) == "Too many requests without a valid token"
    assert reply.headers["WWW-Authenticate"].startswith("Bearer")
    assert ann.list().status == 200


def test_addresses_behind_a_trusted_proxy_are_told_apart(opened: Opened) -> None:
    limits = {"COATCHECK_FAILURES_PER_MINUTE": "60", "COATCHECK_TRUSTED_PROXIES": "127.0.0.0/8"}
    stranger = opened.client(opened.door(**limits), None)
    count, _ = until_limited(lambda: stranger.request("tools/list", headers={"X-Forwarded-For": "198.51.100.1"}))
    assert count >= 120  # twice as many at once as in a minute, and what came in meanwhile
    assert stranger.request("tools/list", headers={"X-Forwarded-For": "198.51.100.2"}).status == 401


def test_tasks_that_have_not_ended_are_limited_per_owner_and_tenant(opened: Opened, platform: Platform) -> None:
    url = opened.door(COATCHECK_TASKS_PER_OWNER="3", COATCHECK_TASKS_PER_TENANT="5")
    ann, bob, eve = (opened.client(url, name) for name in NAMES)
    tasks = [ann.start("whoami") for _ in range(3)]
    assert limited(ann.call("whoami")).startswith("You have too many tasks")
    for _ in range(2):
        bob.start("whoami")
    assert limited(bob.call("whoami")).startswith("Your organisation has too many tasks")
    assert eve.call("whoami").status == 200
    ann.cancel(tasks[0])
    assert ann.call("whoami").status == 200
    with platform.valkey.client() as records:
        assert records.llen("coatcheck:broker:coatcheck") <= 7  # what was refused left no message


def test_a_call_that_is_repeated_counts_once(opened: Opened) -> None:
    url = opened.door(COATCHECK_TASKS_PER_OWNER="2")
    ann = opened.client(url, "ann@acme")
    meta = {"io.coatcheck/idempotencyKey": "once"}
    assert len({ann.start("whoami", meta=meta) for _ in range(4)}) == 1
    assert ann.call("confirm", {"what": "x"}, meta=meta).error["code"] == -32602
    assert ann.call("whoami").status == 200
    assert limited(ann.call("whoami"))


def test_a_full_queue_takes_no_more_work(opened: Opened, platform: Platform) -> None:
    """C41: whoever it is for; what needs no worker goes on."""
    url = opened.door(COATCHECK_BACKLOG="3")
    ann = opened.client(url, "ann@acme")
    with platform.valkey.client() as broker:
        _, reply = until_limited(lambda: ann.call("whoami"), most=5_000)
        assert limited(reply).startswith("Too much work")
        assert broker.llen("coatcheck:broker:coatcheck") >= 3
    assert ann.call("greet").status == 200


@pytest.mark.parametrize("sync", [False, True])
def test_arguments_that_are_too_large_make_no_task(opened: Opened, platform: Platform, sync: bool) -> None:
    url = opened.door(COATCHECK_MAX_ARGUMENT_BYTES=str(BODY))
    ann = opened.client(url, "ann@acme")
    capabilities = {"elicitation": {"form": {}}} if sync else ann.capabilities
    ann.capabilities = capabilities
    reply = ann.call("confirm", {"what": "x" * BODY})
    assert (reply.status, reply.error["code"]) == (400, -32602)
    assert reply.error["message"].startswith("arguments: has ")
    assert tasks_of(platform) == []


def tasks_of(platform: Platform) -> list[bytes]:
    """The records there are."""
    with platform.valkey.client() as records:
        client: Redis = records
        return list(client.scan_iter("coatcheck:*:task:*"))


ONCE = {"io.coatcheck/idempotencyKey": "once"}


def test_a_repeated_call_finds_its_task_where_its_owner_can_have_no_more(opened: Opened) -> None:
    """K4.1: its first answer was lost; a new call is refused as before."""
    ann = opened.client(opened.door(COATCHECK_TASKS_PER_OWNER="1"), "ann@acme")
    made = ann.start("whoami", meta=ONCE)
    assert ann.start("whoami", meta=ONCE) == made
    assert ann.call("confirm", {"what": "x"}, meta=ONCE).error["code"] == -32602
    assert limited(ann.call("whoami", meta={"io.coatcheck/idempotencyKey": "another"}))
    assert limited(ann.call("whoami"))


def test_a_repeated_call_finds_its_task_where_its_tenant_can_have_no_more(opened: Opened) -> None:
    """K4.1."""
    url = opened.door(COATCHECK_TASKS_PER_TENANT="1")
    ann, bob = opened.client(url, "ann@acme"), opened.client(url, "bob@acme")
    made = ann.start("whoami", meta=ONCE)
    assert ann.start("whoami", meta=ONCE) == made
    assert limited(bob.call("whoami", meta=ONCE)).startswith("Your organisation")


def test_a_repeated_call_finds_its_task_where_the_queue_is_full(opened: Opened) -> None:
    """K4.1."""
    ann = opened.client(opened.door(COATCHECK_BACKLOG="2"), "ann@acme")
    made = ann.start("whoami", meta=ONCE)
    until_limited(lambda: ann.call("whoami"), most=5_000)
    assert ann.start("whoami", meta=ONCE) == made
