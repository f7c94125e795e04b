"""JSON-RPC and the `_meta` of every request."""

from collections.abc import Mapping
from contextlib import closing
from typing import Any

import orjson
import pytest
from redis import Redis

from tests.support.client import Client
from tests.web.door import (
    CLIENT_CAPABILITIES,
    PROTOCOL_VERSION,
    SERVER_INFO,
    VERSION,
    Door,
    encode,
    headers_of,
    request,
    text_result,
)

REMOVED = [
    "initialize",
    "ping",
    "logging/setLevel",
    "tasks/status",
    "tasks/result",
    "tasks/list",
    "resources/subscribe",
    "resources/unsubscribe",
    "roots/list",
]


def greet(**changes: Any) -> dict[str, Any]:
    """A call that is in order."""
    return request("tools/call", {"name": "greet", "arguments": {"name": "Ann"}}, **changes)


@pytest.mark.parametrize("id", [0, -1, 7, 2**53, 2**63, 10**40, "", "0", "7", "ünïcode ☃", "x" * 1_000])
def test_an_id_is_echoed_with_its_type(door: Door, id: object) -> None:  # noqa: A002
    """RPC-1: on a result and on an error."""
    assert door.post(greet(id=id)).json == {"jsonrpc": "2.0", "id": id, "result": text_result("Hello, Ann!")}
    refused = door.post(request("no/such", id=id)).json
    assert (refused["id"], type(refused["id"])) == (id, type(id))


def test_the_params_may_be_left_out_and_members_that_nobody_knows_are_ignored(door: Door) -> None:
    """RPC-1, RPC-5."""
    message = {**greet(), "trace": 1}
    message["params"] |= {"task": {"ttl": 1}, "unknown": [1], "arguments": {"name": "Ann"}}
    message["params"]["_meta"] |= {"test.example/unknown": {"a": 1}, "io.modelcontextprotocol/logLevel": "debug"}
    assert door.post(message).json["result"] == text_result("Hello, Ann!")
    bare = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    refused = door.send(encode(bare), headers_of(request("tools/list")))
    assert refused.refusal == (400, -32602)


@pytest.mark.parametrize(
    ("meta", "sent", "refusal"),
    [
        pytest.param({PROTOCOL_VERSION: "1900-01-01"}, "1900-01-01", (400, -32022), id="a"),
        pytest.param({PROTOCOL_VERSION: "2025-11-25"}, VERSION, (400, -32020), id="b"),
        pytest.param({PROTOCOL_VERSION: None}, VERSION, (400, -32602), id="c"),
        pytest.param({CLIENT_CAPABILITIES: None}, VERSION, (400, -32602), id="e"),
    ],
)
def test_version_and_meta_are_told_apart(
    door: Door, meta: Mapping[str, object], sent: str, refusal: tuple[int, int]
) -> None:
    """RPC-2, RPC-3, HDR-1, C55."""
    assert door.post(greet(meta=meta), headers={"MCP-Protocol-Version": sent}).refusal == refusal


def test_a_client_need_not_introduce_itself(door: Door) -> None:
    """RPC-2, C55."""
    assert "io.modelcontextprotocol/clientInfo" not in greet()["params"]["_meta"]
    assert door.post(greet()).status == 200


@pytest.mark.parametrize("version", ["1900-01-01", "2025-11-25", "2026-07-29", "x"])
def test_a_version_that_is_not_spoken_is_refused_with_those_that_are(door: Door, version: str) -> None:
    """RPC-3: as server/discover says; an older one that was asked for in today's form would be refused again."""
    reply = door.post(greet(meta={PROTOCOL_VERSION: version}), headers={"MCP-Protocol-Version": version})
    assert reply.refusal == (400, -32022)
    assert reply.json["error"]["data"] == {"supported": [VERSION], "requested": version}


@pytest.mark.parametrize(
    "params", [{"taskId": "x", "inputResponses": 7}, {"taskId": "x", "inputResponses": None}, {"taskId": "x"}], ids=str
)
def test_what_is_wrong_with_parameters_is_told_in_words(door: Door, params: Mapping[str, Any]) -> None:
    """RPC-5."""
    reply = door.post(request("tasks/update", params))
    assert reply.refusal == (400, -32602)
    message = reply.json["error"]["message"]
    assert message.startswith("inputResponses: ")
    assert not set(message) & set("{}[]'_")


@pytest.mark.parametrize("method", [*REMOVED, "foo/bar", "__init__", "tools/call/x", "subscriptions"])
def test_a_method_that_is_not_served_is_not_found(door: Door, method: str) -> None:
    """RPC-4, C53."""
    reply = door.post(request(method, {"taskId": "x", "name": "greet"}, id="m"))
    assert reply.refusal == (404, -32601)
    assert reply.json["id"] == "m"


@pytest.mark.parametrize("id", [0, "first"])
def test_a_client_of_an_older_era_is_told_what_is_spoken(narrow: Door, id: object) -> None:  # noqa: A002
    """RPC-4, C54: without any header or `_meta` of this one; by a door that does not serve it, which others do."""
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": id, "method": "initialize", "params": params}
    reply = narrow.send(encode(message), {"Content-Type": "application/json", "Accept": "application/json"})
    assert reply.refusal == (400, -32022)
    assert reply.json["id"] == id
    assert reply.json["error"]["data"] == {"supported": [VERSION], "requested": "2025-06-18"}
    assert VERSION in reply.json["error"]["message"]
    assert "mcp-session-id" not in reply.headers


def test_every_result_says_what_it_is_and_whose(client: Client, plain: Client) -> None:
    """RPC-5."""
    task_id = client.start("ask_person")
    client.wait_for(task_id, "input_required")
    told = {
        "discover": client.discover(),
        "list": client.list(),
        "call": client.call("greet", {"name": "Ann"}),
        "error": client.call("greet"),
        "create": client.call("ask_person"),
        "input": plain.call("ask_person"),
        "get": client.get(task_id),
        "update": client.update(task_id, {}),
        "cancel": client.cancel(task_id),
    }
    assert {name: reply.result["resultType"] for name, reply in told.items()} == {
        "discover": "complete",
        "list": "complete",
        "call": "complete",
        "error": "complete",
        "create": "task",
        "input": "input_required",
        "get": "complete",
        "update": "complete",
        "cancel": "complete",
    }
    assert [reply.result["_meta"] for reply in told.values()] == [SERVER_INFO] * len(told)


def test_nothing_is_remembered_from_an_earlier_request(door: Door) -> None:
    """RPC-2, TASK-1, C69: what was declared counts for its own request, on the same connection too."""
    call = {"name": "failing_job", "arguments": {}}
    with closing(door.connect()) as connection:
        assert door.post(request("tools/call", call), connection=connection).json["result"]["resultType"] == "task"
        again = door.post(request("tools/call", call, capabilities={}), connection=connection)
        assert again.refusal == (400, -32021)
        bare = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        assert door.post(bare, connection=connection).refusal == (400, -32602)


def test_the_codes_of_the_specification_mean_what_it_says(client: Client) -> None:
    """RPC-6: each is provoked once; no other code of its range is ours."""
    replies = {
        client.request("tools/list", headers={"Mcp-Method": "x"}).error["code"],
        client.request("tools/list", headers={"MCP-Protocol-Version": "x"}, meta={PROTOCOL_VERSION: "x"}).error["code"],
        client.request("tools/call", {"name": "failing_job"}, meta={CLIENT_CAPABILITIES: {}}).error["code"],
        client.request("tools/call", {"name": "no_such"}).error["code"],
        client.request("no/such").error["code"],
    }
    assert replies == {-32020, -32021, -32022, -32601, -32602}


def test_the_trace_of_the_caller_goes_with_the_job(client: Client, records: Redis) -> None:
    """RPC-7: as far as it is one."""
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    meta = {"traceparent": parent, "tracestate": "a=b", "baggage": 7, "other": "x"}
    task_id = client.start("ask_person", meta=meta)
    [name] = records.scan_iter(f"coatcheck:*:task:{task_id}")
    trace = records.hget(name, "trace")
    assert trace is not None
    assert orjson.loads(trace) == {"traceparent": parent, "tracestate": "a=b"}
