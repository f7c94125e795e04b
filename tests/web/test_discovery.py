"""What a client learns about the server before it calls a tool."""

import re
from typing import Any

import pytest
from jsonschema_rs import validator_for

from tests.support.client import Client
from tests.support.platform import Platform
from tests.web.door import SERVER_INFO, TASKS, VERSION, Door, request

NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


def test_discovery_says_what_is_served_and_nothing_else(client: Client) -> None:
    """DISC-1, LIST-2, C53: the list does not change while the server runs, so it does not say that it tells."""
    reply = client.discover()
    assert reply.result == {
        "resultType": "complete",
        "supportedVersions": [VERSION],
        "capabilities": {"tools": {}, "extensions": {TASKS: {}, "io.coatcheck/idempotency": {}}},
        "ttlMs": 60_000,
        "cacheScope": "public",
        "_meta": SERVER_INFO,
    }


def test_instructions_are_the_operators(narrow: Door) -> None:
    """DISC-1."""
    assert narrow.post(request("server/discover")).json["result"]["instructions"] == "Ask nicely."


def test_the_list_is_the_same_each_time_and_in_each_process(client: Client) -> None:
    """LIST-1, C65: in the order of the names."""
    lists = [client.list().result for _ in range(8)]
    assert all(one == lists[0] for one in lists)
    names = [tool["name"] for tool in lists[0]["tools"]]
    assert names == sorted(names)
    assert all(NAME.fullmatch(name) for name in names)
    assert "nextCursor" not in lists[0]


def test_the_list_comes_in_pages(narrow: Door, client: Client) -> None:
    """LIST-1, C65: of the same scope each, and together the whole."""
    pages: list[Any] = []
    cursor: dict[str, str] = {}
    while True:
        result = narrow.post(request("tools/list", cursor)).json["result"]
        pages.append(result)
        if "nextCursor" not in result:
            break
        cursor = {"cursor": result["nextCursor"]}
    assert [tool for page in pages for tool in page["tools"]] == client.list().result["tools"]
    assert {len(page["tools"]) for page in pages[:-1]} == {7}
    assert {(page["ttlMs"], page["cacheScope"]) for page in pages} == {(60_000, "public")}


@pytest.mark.parametrize("cursor", ["", "x", "greet", "Z3JlZXQ", "Z3JlZXQ=x"])
def test_a_cursor_that_was_never_given_is_refused(client: Client, cursor: str) -> None:
    """LIST-1."""
    reply = client.list(cursor)
    assert (reply.status, reply.error["code"]) == (400, -32602)


def test_a_tool_is_listed_with_all_that_its_author_said(client: Client) -> None:
    """LIST-1."""
    [forecast] = [tool for tool in client.list().result["tools"] if tool["name"] == "forecast"]
    assert forecast == {
        "name": "forecast",
        "title": "Forecast the weather",
        "description": "Forecast the weather of a city.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "minLength": 1},
                "days": {"type": "integer", "minimum": 1, "maximum": 7, "default": 3},
            },
            "required": ["city"],
            "additionalProperties": False,
        },
        "outputSchema": {
            "title": "Forecast",
            "description": "What the weather will be like.",
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "warm": {"type": "boolean"}},
            "required": ["city", "days", "warm"],
        },
        "annotations": {"readOnlyHint": True},
        "icons": [{"src": "data:image/png;base64,iVBORw0KGgo=", "mimeType": "image/png"}],
        "_meta": {"test.example/kind": "weather"},
    }


def test_every_schema_in_the_list_is_one(client: Client) -> None:
    """LIST-1: JSON Schema 2020-12, and of an object for what a tool takes."""
    for tool in client.list().result["tools"]:
        assert tool["inputSchema"]["type"] == "object"
        assert tool["description"]
        for key in ("inputSchema", "outputSchema"):
            validator_for(tool.get(key, {}))


@pytest.mark.parametrize("params", [{}, {"inputResponses": {"a": {"action": "accept"}}, "requestState": "x"}])
def test_listing_never_asks(client: Client, params: dict[str, object]) -> None:
    """LIST-1, RPC-5: what a call could carry means nothing here."""
    assert client.request("tools/list", params).result == client.list().result


def test_old_capabilities_and_parameters_mean_nothing(platform: Platform) -> None:
    """TASK-1, C69: the older era's `tasks`."""
    with platform.client(capabilities={"tasks": {"requests": {"tools/call": {}}}}) as old:
        assert old.discover().result["capabilities"] == {
            "tools": {},
            "extensions": {TASKS: {}, "io.coatcheck/idempotency": {}},
        }
        assert old.call("greet", {"name": "Ann"}, params={"task": {"ttl": 1000}}).result["resultType"] == "complete"
        refused = old.call("failing_job", params={"task": {"ttl": 1000}})
        assert (refused.status, refused.error["code"]) == (400, -32021)
