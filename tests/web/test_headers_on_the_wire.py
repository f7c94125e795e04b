"""The headers that mirror the body: accepted in every spelling that means the same, refused in every other."""

import base64
from collections.abc import Mapping

import pytest

from tests.support.client import Client
from tests.web.door import VERSION, Door, encode, headers_of, request, text_result

GREET = request("tools/call", {"name": "greet", "arguments": {"name": "Ann"}})


def encoded(text: str) -> str:
    """The base64 form of a header's value."""
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


@pytest.mark.parametrize(
    "headers",
    [
        {"MCP-Protocol-Version": f"  {VERSION}\t"},
        {"Mcp-Method": " tools/call "},
        {"Mcp-Name": " greet "},
        {"Mcp-Name": encoded("greet")},
        {"Mcp-Name": f"\t{encoded('greet')} "},
    ],
)
def test_a_header_may_be_padded_and_a_name_encoded(door: Door, headers: Mapping[str, str]) -> None:
    """HDR-1, HDR-2, HDR-3."""
    assert door.post(GREET, headers=headers).json["result"] == text_result("Hello, Ann!")


@pytest.mark.parametrize("spelling", [str.lower, str.upper])
def test_the_names_of_headers_ignore_case(door: Door, spelling: type[str]) -> None:
    """HDR-1, HDR-2, HDR-3, C56."""
    headers = {spelling(name): value for name, value in headers_of(GREET).items()}
    assert door.send(encode(GREET), headers).status == 200


@pytest.mark.parametrize("name", ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"])
@pytest.mark.parametrize("second", ["same", "other"])
def test_a_header_sent_twice_is_refused(door: Door, name: str, second: str) -> None:
    """HDR-3, C56: two readers could each believe another one."""
    headers = headers_of(GREET)
    twice = [*headers.items(), (name, headers[name] if second == "same" else "x")]
    assert door.send(encode(GREET), twice).refusal == (400, -32020)


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_the_name_of_a_task_method_is_its_task(door: Door, client: Client, method: str) -> None:
    """HDR-3, C56, K4.9: plain, encoded, in lower case or missing; another's is refused, and nothing is told."""
    task_id = client.start("ask_person")
    before = client.wait_for(task_id, "input_required")
    message = request(method, {"taskId": task_id, "inputResponses": {}})
    plain = {name: value for name, value in headers_of(message).items() if name != "Mcp-Name"}
    for wrong in ({"Mcp-Name": ""}, {"Mcp-Name": "x"}, {"Mcp-Name": "=?base64??="}, {"Mcp-Name": f"{task_id}0"}):
        assert door.send(encode(message), {**plain, **wrong}).refusal == (400, -32020)
    assert client.get(task_id).result == before
    for right in ({}, {"Mcp-Name": task_id}, {"Mcp-Name": encoded(task_id)}, {"mcp-name": task_id}):
        assert door.send(encode(message), {**plain, **right}).status == 200


@pytest.mark.parametrize("method", ["tasks/get", "tasks/update", "tasks/cancel"])
def test_a_task_method_without_its_name_is_refused_where_a_setting_requires_it(narrow: Door, method: str) -> None:
    """HDR-3, K4.9."""
    message = request(method, {"taskId": "0" * 33, "inputResponses": {}})
    named = headers_of(message)
    assert narrow.send(encode(message), named).refusal == (400, -32602)
    del named["Mcp-Name"]
    assert narrow.send(encode(message), named).refusal == (400, -32020)


@pytest.mark.parametrize(
    ("arguments", "headers", "text"),
    [
        ({}, {}, "eu 1 False"),
        ({"region": "us"}, {"Mcp-Param-Region": "us"}, "us 1 False"),
        ({"region": "us"}, {"mcp-param-region": "us"}, "us 1 False"),
        ({"region": "us"}, {"Mcp-Param-Region": encoded("us")}, "us 1 False"),
        ({"region": "Hello, 世界"}, {"Mcp-Param-Region": encoded("Hello, 世界")}, "Hello, 世界 1 False"),
        ({"region": " padded "}, {"Mcp-Param-Region": encoded(" padded ")}, " padded  1 False"),
        ({"region": "=?base64?eA==?="}, {"Mcp-Param-Region": encoded("=?base64?eA==?=")}, "=?base64?eA==?= 1 False"),
        ({"region": "a\r\nb"}, {"Mcp-Param-Region": encoded("a\r\nb")}, "a\r\nb 1 False"),
        ({"region": ""}, {"Mcp-Param-Region": ""}, " 1 False"),
        ({"level": 42}, {"Mcp-Param-Level": "42"}, "eu 42 False"),
        ({"level": 42}, {"Mcp-Param-Level": "42.0"}, "eu 42 False"),
        ({"level": -7}, {"Mcp-Param-Level": "-7"}, "eu -7 False"),
        ({"level": 2**53}, {"Mcp-Param-Level": str(2**53)}, f"eu {2**53} False"),
        ({"dry": True}, {"Mcp-Param-Dry": "true"}, "eu 1 True"),
        ({"dry": False}, {"Mcp-Param-Dry": "false"}, "eu 1 False"),
        ({}, {"Mcp-Param-Unknown": "x"}, "eu 1 False"),
    ],
)
def test_an_argument_comes_as_its_header_too(
    client: Client, arguments: Mapping[str, object], headers: Mapping[str, str], text: str
) -> None:
    """HDR-4: numbers are compared as numbers; a header that no argument has is another's business."""
    assert client.call("routed", arguments, headers=headers).result == text_result(text)


def test_an_argument_inside_another_comes_as_its_header_too(client: Client) -> None:
    """HDR-4: an argument that is null, or not there, has none."""
    where = {"zone": "a"}
    given = client.call("nested", {"where": where}, headers={"Mcp-Param-Zone": "a"})
    assert given.result == text_result(f"{where} None")
    assert client.call("nested", {"ratio": None}).result == text_result("None None")


def test_an_argument_of_a_type_that_no_header_has_is_left_to_the_schema(client: Client) -> None:
    """HDR-4, CALL-1."""
    told = client.call("routed", {"region": ["eu"]}).result
    assert told["isError"] is True
    assert "region" in told["content"][0]["text"]


def test_annotated_parameters_are_listed(client: Client) -> None:
    """HDR-4."""
    [routed] = [tool for tool in client.list().result["tools"] if tool["name"] == "routed"]
    found = {name: schema["x-mcp-header"] for name, schema in routed["inputSchema"]["properties"].items()}
    assert found == {"region": "Region", "level": "Level", "dry": "Dry"}
