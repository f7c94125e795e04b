"""What opens the older era, what stays of today, and what goes before and beside the calls."""

from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import pytest

from tests.legacy.older import Older
from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.ports import free_port
from tests.support.waiting import wait_until
from tests.web.door import VERSION, Door, encode, headers_of, request

OLD = ["2025-11-25", "2025-06-18", "2025-03-26"]

OPENING = {"capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}


def opening(version: object) -> dict[str, Any]:
    """The parameters of an initialize that asks for this version."""
    return {"protocolVersion": version, **OPENING}


@pytest.fixture(scope="session")
def closed_door(platform: Platform) -> Iterator[Door]:
    """Another front door of the same deployment, which serves nothing old."""
    port = free_port()
    process = platform.start_web(port=port, env={"COATCHECK_LEGACY": "off", "WEB_CONCURRENCY": "1"})

    def answers() -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{port}/healthz", trust_env=False).status_code == 200
        except httpx.TransportError:
            return False

    wait_until(answers, 30.0, "the front door")
    yield Door(port)
    process.kill()


@pytest.mark.parametrize(
    ("asked", "agreed"),
    [
        *((version, version) for version in OLD),
        ("2024-11-05", "2025-11-25"),
        (VERSION, "2025-11-25"),
        ("x", "2025-11-25"),
    ],
)
def test_the_version_is_agreed_on(platform: Platform, asked: str, agreed: str) -> None:
    """OLD-1: nobody has to send a header for that, and no session is minted."""
    with Older(platform.url, None) as older:
        reply = older.request("initialize", opening(asked))
    assert reply.result["protocolVersion"] == agreed
    assert reply.result["serverInfo"]["name"] == "coatcheck"
    assert reply.result["capabilities"] == {
        "tools": {},
        "logging": {},
        **({"tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}} if agreed == OLD[0] else {}),
    }
    assert "mcp-session-id" not in reply.headers


@pytest.mark.parametrize("params", [{}, opening(None), opening(7), {"protocolVersion": []}])
def test_an_opening_without_a_version_is_refused(platform: Platform, params: Mapping[str, Any]) -> None:
    """OLD-1."""
    with Older(platform.url, None) as older:
        assert older.request("initialize", params).refusal == (200, -32602)


def test_nothing_is_remembered_of_an_opening(platform: Platform) -> None:
    """OLD-1: who never opened is served too, and so is who opened elsewhere; a session's name means nothing."""
    with Older(platform.url) as older:
        assert (
            older.call(
                "greet",
                {"name": "Ann"},
            ).text
            == "Hello, Ann!"
        )
        assert older.request("ping", Mcp_Session_Id="x").result == {}


@pytest.mark.parametrize("revision", [*OLD, None])
def test_ping_and_levels_are_taken_and_notifications_accepted(platform: Platform, revision: str | None) -> None:
    """OLD-1, HTTP-7."""
    with Older(platform.url, revision) as older:
        assert older.request("ping").result == {}
        assert older.request("logging/setLevel", {"level": "info"}).result == {}
        assert older.request("logging/setLevel", {"level": "loud"}).refusal == (200, -32602)
        for method in ("notifications/initialized", "notifications/cancelled", "notifications/roots/list_changed"):
            accepted = older.send({"jsonrpc": "2.0", "method": method})
            assert (accepted.status, accepted.messages) == (202, ())


@pytest.mark.parametrize("verb", ["GET", "DELETE"])
def test_there_are_no_streams_to_get_and_no_sessions_to_delete(platform: Platform, verb: str) -> None:
    """HTTP-2, OLD-1."""
    headers = {"Accept": "text/event-stream", "MCP-Protocol-Version": OLD[0], "Mcp-Session-Id": "x"}
    assert httpx.request(verb, platform.url, headers=headers, trust_env=False).status_code == 405


@pytest.mark.parametrize(
    "method",
    ["tasks/update", "server/discover", "subscriptions/listen", "tasks/status", "resources/list", "no/such", "Ping"],
)
@pytest.mark.parametrize("revision", [*OLD, None])
def test_methods_of_today_are_unknown_in_the_older_era(platform: Platform, method: str, revision: str | None) -> None:
    """OLD-1, RPC-4."""
    with Older(platform.url, revision) as older:
        assert older.request(method, {"taskId": "x", "inputResponses": {}}).refusal == (404, -32601)


@pytest.mark.parametrize("method", ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel"])
@pytest.mark.parametrize("revision", ["2025-06-18", "2025-03-26", None])
def test_only_the_newest_of_them_knows_tasks(platform: Platform, method: str, revision: str | None) -> None:
    """OLD-1."""
    with Older(platform.url, revision) as older:
        assert older.request(method, {"taskId": "x"}).refusal == (404, -32601)


@pytest.mark.parametrize("version", ["2024-11-05", "2025-11-26", "1900-01-01", "", "2025-11-25, 2025-11-25"])
def test_a_version_that_nobody_speaks_gets_the_error_of_today(platform: Platform, version: str) -> None:
    """RPC-3: and is told of every revision that is served here."""
    with Older(platform.url, version) as older:
        reply = older.request("ping")
    assert reply.refusal == (400, -32022)
    assert reply.body["error"]["data"] == {"supported": [VERSION, *OLD], "requested": version}


@pytest.mark.parametrize(
    ("task", "said"),
    [({"ttl": -1}, "task.ttl: "), ({"ttl": "soon"}, "task.ttl: "), (7, "task: "), ([], "task: ")],
    ids=str,
)
def test_what_is_wrong_with_a_nested_parameter_is_told_by_its_path(platform: Platform, task: object, said: str) -> None:
    """OLD-2."""
    with Older(platform.url) as older:
        reply = older.request("tools/call", {"name": "greet", "arguments": {"name": "Ann"}, "task": task})
    assert reply.refusal == (200, -32602)
    message = reply.body["error"]["message"]
    assert message.startswith(said)
    assert not set(message) & set("{}[]'")


@pytest.mark.parametrize("version", [None, *OLD])
@pytest.mark.parametrize("method", ["initialize", "ping", "tasks/list", "tasks/result", "logging/setLevel"])
def test_a_message_with_the_metadata_of_today_is_always_of_today(
    platform: Platform, version: str | None, method: str
) -> None:
    """OLD-1, RPC-4, HDR-1, C54: an older header beside it is an error of today."""
    message = request(method, {"taskId": "x"})
    headers = {name: value for name, value in headers_of(message).items() if name != "MCP-Protocol-Version"}
    reply = Door(platform.port).send(
        encode(message), headers | ({} if version is None else {"MCP-Protocol-Version": version})
    )
    assert reply.refusal == (400, -32020)
    assert Door(platform.port).post(message).refusal == (404, -32601)


@pytest.mark.parametrize("method", ["tools/list", "tools/call", "server/discover", "tasks/update"])
def test_a_client_of_today_that_forgets_its_version_is_told_so(platform: Platform, method: str) -> None:
    """HDR-1: its header that names the method gives it away."""
    with Older(platform.url, None) as older:
        assert older.request(method, Mcp_Method=method).refusal == (400, -32020)


def test_each_request_is_served_by_its_own_rules(platform: Platform, client: Client) -> None:
    """OLD-1, RPC-2: two versions, on two requests of one client."""
    with Older(platform.url) as older:
        task_id = older.start("ask_page")
        assert older.get(task_id).result.keys() >= {"taskId", "ttl", "pollInterval"}
        assert client.get(task_id).result.keys() >= {"taskId", "ttlMs", "pollIntervalMs"}
        assert older.request("tools/list", MCP_Protocol_Version="2025-03-26").result["tools"]
        older.cancel(task_id)


def test_switched_off_it_answers_with_the_errors_of_today(closed_door: Door) -> None:
    """RPC-4, C54."""
    plain = {"Content-Type": "application/json", "Accept": "application/json"}
    for version in OLD:
        message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": opening(version)}
        for headers in (plain, {**plain, "MCP-Protocol-Version": version}):
            reply = closed_door.send(encode(message), headers)
            assert reply.refusal == (400, -32022)
            assert reply.json["error"]["data"] == {"supported": [VERSION], "requested": version}
            assert VERSION in reply.json["error"]["message"]
            assert "mcp-session-id" not in reply.headers
        ping = encode({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert closed_door.send(ping, {**plain, "MCP-Protocol-Version": version}).refusal == (400, -32022)
        assert closed_door.send(ping, plain).refusal == (400, -32020)
    answer = encode({"jsonrpc": "2.0", "id": "x", "result": {}})
    assert closed_door.send(answer, plain).refusal == (400, -32600)


@pytest.mark.parametrize("revision", ["2025-03-26", None])
def test_the_oldest_of_them_takes_several_messages_at_once(platform: Platform, revision: str | None) -> None:
    """OLD-1: answered in one; what needs no answer gets none."""
    with Older(platform.url, revision) as older:
        ping, unknown = older.message("ping"), older.message("no/such")
        call = older.message("tools/call", {"name": "give", "arguments": {"what": "text"}})
        told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        reply = older.send([ping, told, call, {"jsonrpc": "2.0", "id": "x", "result": {}}, unknown, 7])
        assert reply.status == 200
        assert [message.get("id") for message in reply.body] == [ping["id"], call["id"], unknown["id"], None]
        assert reply.body[1]["result"]["content"]
        assert [message["error"]["code"] for message in reply.body[2:]] == [-32601, -32600]
        quiet = older.send([told, told])
        assert (quiet.status, quiet.messages) == (202, ())


@pytest.mark.parametrize("revision", OLD)
def test_a_batch_that_may_not_be_is_refused(platform: Platform, revision: str) -> None:
    """OLD-1, HTTP-1."""
    with Older(platform.url, revision) as older:
        ping = older.message("ping")
        refused: list[Any] = [[], [ping] * 51, [ping, older.message("initialize", opening(revision))]]
        if revision != "2025-03-26":
            refused.append([ping])
        assert {older.send(batch).refusal for batch in refused} == {(400, -32600)}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"jsonrpc": "1.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": None, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1.5, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1, "method": 7},
        {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": []},
        {"jsonrpc": "1.0", "id": 1, "result": {}},
        {"id": 1, "error": {}},
        "ping",
        7,
    ],
)
@pytest.mark.parametrize("revision", OLD)
def test_what_is_no_message_is_refused_by_its_status(platform: Platform, revision: str, body: object) -> None:
    """RPC-1, HTTP-1."""
    with Older(platform.url, revision) as older:
        assert older.send(body).refusal == (400, -32600)


def test_metadata_that_is_none_is_refused(older: Older) -> None:
    """RPC-2: what no body can hold in this era either."""
    assert older.request("tools/list", {"_meta": []}).refusal == (200, -32602)
    assert older.request("tools/call", {"name": "greet", "_meta": {"progressToken": []}}).refusal == (200, -32602)


def test_the_guards_of_the_door_are_the_same(platform: Platform) -> None:
    """HTTP-3, HTTP-4."""
    with Older(platform.url) as older:
        assert older.request("ping", Origin="https://evil.test").status == 403
        assert older.request("ping", Host="evil.test").status == 403
        assert older.request("ping", Accept="text/html").status == 406
        assert older.request("ping", Content_Type="text/plain").status == 415
