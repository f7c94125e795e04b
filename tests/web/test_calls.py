"""Calls that are answered with a result: what goes in, what comes out, and how it goes wrong."""

import base64
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.waiting import wait_until
from tests.web import raw_sockets
from tests.web.door import SERVER_INFO, Door, encode, headers_of, request, text_result
from tests.web.tools import SECRET

REFERENCE = re.compile(r"The tool (\w+) failed unexpectedly\. Reference: ([0-9a-f]{8})")

SHOWN = [
    {"type": "text", "text": "a text ✓"},
    {"type": "image", "data": "cG5n", "mimeType": "image/png", "annotations": {"audience": ["user"]}},
    {"type": "audio", "data": "d2F2", "mimeType": "audio/wav"},
    {"type": "resource_link", "uri": "https://test.example/a", "name": "a", "mimeType": "text/plain", "size": 3},
    {"type": "resource", "resource": {"uri": "test://b", "blob": "Yg==", "mimeType": "application/octet-stream"}},
]
OBJECT = {"decimal": "1.10", "day": "2026-07-28", "at": "2026-07-28T12:30:00+00:00", "colour": "red", "bytes": "/w=="}

Json = dict[str, Any]


def result(content: list[Any], *, is_error: bool = False, **structured: Any) -> Json:
    """A whole CallToolResult."""
    return {"resultType": "complete", "content": content, "isError": is_error, **structured, "_meta": SERVER_INFO}


def structured(text: str, value: object) -> Json:
    """A whole CallToolResult of a value."""
    return result([{"type": "text", "text": text}], structuredContent=value)


def refused_text(told: Json) -> str:
    """The text of a result that says what went wrong, and nothing else."""
    text: str = told["content"][0]["text"]
    assert told == text_result(text, is_error=True)
    return text


# What a tool takes


@pytest.mark.parametrize("name", ["no_such_tool", "Greet", "greet ", ""])
def test_a_tool_that_there_is_not_is_an_invalid_parameter(client: Client, name: str) -> None:
    """CALL-1."""
    reply = client.call(name, {}, headers={"Mcp-Name": name.strip()} if name != name.strip() else None)
    assert (reply.status, reply.error["code"]) in ((400, -32602), (400, -32020))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({}, ["city"]),
        ({"city": ""}, ["city"]),
        ({"city": 7}, ["city"]),
        ({"city": None}, ["city"]),
        ({"city": "Oslo", "days": 0}, ["days"]),
        ({"city": "Oslo", "days": "three"}, ["days"]),
        ({"city": "Oslo", "days": 1.5}, ["days"]),
        ({"city": "Oslo", "days": True}, ["days"]),
        ({"city": "Oslo", "unknown": 1}, ["unknown"]),
        ({"city": 7, "days": 99}, ["city", "days"]),
        ({"city": "Oslo", "days": 10**300}, ["days"]),
    ],
)
def test_wrong_arguments_are_a_result_that_names_each(client: Client, arguments: Json, named: list[str]) -> None:
    """CALL-1, C61: so that the model that wrote them can correct itself. No value is repeated."""
    text = refused_text(client.call("forecast", arguments).result)
    assert all(name in text for name in named)


def test_wrong_arguments_make_no_task(client: Client) -> None:
    """CALL-1, C61."""
    told = client.call("confirm_delete", {"filename": 7}).result
    assert "filename" in refused_text(told)


def test_arguments_may_be_left_out(client: Client) -> None:
    """C61."""
    assert client.request("tools/call", {"name": "nested"}).result == text_result("None None")


@pytest.mark.parametrize("arguments", [{"city": "Oslo", "days": 3.0}, {"city": "Oslo", "days": 3}, {"city": "Oslo"}])
def test_what_json_calls_an_integer_is_one(client: Client, arguments: Json) -> None:
    """CALL-1, CALL-2."""
    forecast = {"city": "Oslo", "days": 3, "warm": True}
    text = '{"city":"Oslo","days":3,"warm":true}'
    assert client.call("forecast", arguments).result == structured(text, forecast)


# What a tool gives


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("text", text_result("naïve ☃ 𝄞 \x00 \u2028")),
        ("nothing", result([])),
        ("object", structured(str(OBJECT).replace("'", '"').replace(", ", ",").replace(": ", ":"), OBJECT)),
        ("list", structured('[1,"two",null]', [1, "two", None])),
        ("number", structured("7", 7)),
        ("false", structured("false", False)),
        ("shown", result(SHOWN)),
        ("told", result([{"type": "text", "text": "told"}], structuredContent={"a": 1})),
        ("told_error", result([{"type": "text", "text": "no"}], is_error=True, structuredContent={"why": "x"})),
    ],
)
def test_a_result_of_any_kind_arrives_whole(client: Client, plain: Client, what: str, expected: Json) -> None:
    """CALL-2, CALL-3, C64, C71: the same from a call that waits and from a task."""
    assert plain.call("give", {"what": what}).result == expected
    task = client.wait_for(client.start("give_later", {"what": what}))
    assert (task["status"], task["result"]) == ("completed", expected)


@pytest.mark.parametrize("what", ["nan", "surrogate", "cycle", "set", "object_without_form", "huge"])
def test_a_result_that_cannot_be_sent_is_said_so(client: Client, plain: Client, what: str) -> None:
    """CALL-2, C63, C64: where it is and why, in a result and in a task that is completed."""
    text = refused_text(plain.call("give", {"what": what}).result)
    assert "cannot be sent" in text
    assert len(text) < 300
    task = client.wait_for(client.start("give_later", {"what": what}))
    assert (task["status"], "cannot be sent" in refused_text(task["result"])) == ("completed", True)


def test_models_of_pydantic_and_marshmallow_arrive_as_their_schemas_say(client: Client) -> None:
    """CALL-2."""
    price = {"amount": "1.10", "day": "2026-07-28", "at": "2026-07-28T12:30:00Z", "colour": "blue"}
    assert client.call("priced").result["structuredContent"] == price
    dumped = {"amount": 1.1, "day": "2026-07-28"}
    assert client.call("priced_by_marshmallow").result["structuredContent"] == dumped


def test_a_promised_array_arrives_as_structure_and_as_text(client: Client, plain: Client) -> None:
    """CALL-2, C64."""
    expected = structured("[1,2]", [1, 2])
    assert plain.call("promise", {"kind": "kept"}).result == expected
    assert client.wait_for(client.start("promise_later", {"kind": "kept"}))["result"] == expected


@pytest.mark.parametrize("kind", ["wrong", "nothing"])
def test_a_broken_promise_is_the_tools_fault_and_never_passed_on(platform: Platform, plain: Client, kind: str) -> None:
    """CALL-2, C64: the model hears whose fault it is, the log has the rest."""
    text = refused_text(plain.call("promise", {"kind": kind}).result)
    assert "promise is at fault" in text
    assert "the tool is at fault" in platform.workers[0].log


def test_a_broken_promise_of_a_task_completes_it_with_an_error(client: Client) -> None:
    """CALL-2, C64."""
    task = client.wait_for(client.start("promise_later", {"kind": "wrong"}))
    assert task["status"] == "completed"
    assert "promise_later is at fault" in refused_text(task["result"])


def test_what_a_model_may_know_is_a_result(plain: Client) -> None:
    """CALL-3, C64: with a promised structure too, which an error does not owe."""
    assert plain.call("promise", {"kind": "error"}).result == text_result("no numbers today", is_error=True)


@pytest.mark.parametrize(("tool", "arguments"), [("mishap", {}), ("promise", {"kind": "mishap"})])
def test_an_unexpected_exception_shows_nothing_but_a_reference(
    platform: Platform, plain: Client, tool: str, arguments: Json
) -> None:
    """CALL-3, C64, C86: under which the log has the whole of it."""
    text = refused_text(plain.call(tool, arguments).result)
    match = REFERENCE.fullmatch(text)
    assert match is not None, text
    assert match[1] == tool
    log = platform.workers[0].log
    assert f"[reference {match[2]}]" in log
    assert SECRET in log


def test_an_unexpected_exception_of_a_task_completes_it_with_an_error(client: Client) -> None:
    """CALL-3, C86."""
    task = client.wait_for(client.start("mishap"))
    assert task["status"] == "completed"
    assert REFERENCE.fullmatch(refused_text(task["result"]))
    assert SECRET not in str(task)


# While it runs


@pytest.mark.parametrize("token", ["p", 0, 7, ""])
def test_progress_is_told_on_the_way_and_nothing_after_the_response(plain: Client, token: str | int) -> None:
    """CALL-4."""
    reply = plain.call("test_tool_with_progress", meta={"progressToken": token})
    assert reply.result == text_result("All steps are done")
    assert reply.notifications == tuple(
        {
            "jsonrpc": "2.0",
            "method": "notifications/progress",
            "params": {
                "progressToken": token,
                "progress": done,
                "total": 100,
                "message": f"Completed step {done} of 100",
            },
        }
        for done in (0, 50, 100)
    )


def test_progress_only_rises(plain: Client) -> None:
    """CALL-4, C97: what repeats itself or goes back is left out."""
    reply = plain.call("report", meta={"progressToken": "p"})
    assert [told["params"]["progress"] for told in reply.notifications] == [0.3, 1.0]
    assert reply.result == text_result("reported")


def test_without_a_token_there_is_no_stream(plain: Client) -> None:
    """CALL-4."""
    reply = plain.call("test_tool_with_progress")
    assert (reply.headers["Content-Type"], reply.notifications) == ("application/json", ())
    assert reply.result == text_result("All steps are done")


@pytest.mark.parametrize("token", [None, "p"])
def test_a_caller_that_goes_away_cancels_its_call(door: Door, tmp_path: Path, token: str | None) -> None:
    """CALL-5, HTTP-8: whether it waited for a stream or for one piece."""
    mark = tmp_path / "mark"
    meta = {} if token is None else {"progressToken": token}
    call = request("tools/call", {"name": "hold_call", "arguments": {"path": str(mark)}}, meta=meta)
    body = encode(call)
    with raw_sockets.connected(door.port) as connection:
        connection.sendall(raw_sockets.whole(headers_of(call), body))
        wait_until(lambda: mark.exists() and "began" in mark.read_text(), 20.0, "the run")
    wait_until(lambda: "ended" in mark.read_text(), 20.0, "the end of the run")


def test_a_call_that_takes_too_long_is_ended_with_a_word(narrow: Door, tmp_path: Path) -> None:
    """CALL-5, C68: before a router would cut it."""
    mark = tmp_path / "mark"
    call = request("tools/call", {"name": "hold", "arguments": {"path": str(mark)}}, capabilities={})
    told = narrow.post(call).json["result"]
    assert "within 1 second, the limit" in refused_text(told)  # K6.3
    wait_until(lambda: "ended" in mark.read_text(), 20.0, "the end of the run")


def test_a_caller_with_a_key_of_its_own_can_come_back(narrow: Door, tmp_path: Path) -> None:
    """C67: the call goes on behind the limit, and is found again."""
    mark = tmp_path / "mark"
    call = request(
        "tools/call",
        {"name": "hold", "arguments": {"path": str(mark), "seconds": 2}},
        capabilities={},
        meta={"io.coatcheck/idempotencyKey": str(tmp_path)},
    )
    assert "same idempotency key" in refused_text(narrow.post(call).json["result"])
    wait_until(lambda: "ended" in mark.read_text(), 20.0, "the end of the run")
    assert narrow.post(call).json["result"] == text_result("held")
    assert mark.read_text() == "began\nended\n"


# Calls that are sent again


def test_a_call_sent_many_times_under_one_key_is_one_task(platform: Platform, tmp_path: Path) -> None:
    """C67: also when all come at once, through two processes; and it runs once."""
    mark = tmp_path / "mark"
    key = {"io.coatcheck/idempotencyKey": f"once-{tmp_path}"}

    def send(_n: int) -> str:
        with platform.client() as client:
            return client.start("leave_mark", {"path": str(mark)}, meta=key)

    with ThreadPoolExecutor(10) as pool:
        [task_id] = set(pool.map(send, range(40)))
    with platform.client() as client:
        assert client.wait_for(task_id)["status"] == "completed"
        other = client.call("leave_mark", {"path": str(tmp_path / "other")}, meta=key)
        another = client.call("failing_job", meta=key)
    assert mark.read_text() == "ran\n"
    assert [(reply.status, reply.error["code"]) for reply in (other, another)] == [(400, -32602)] * 2


def test_without_a_key_each_call_is_its_own(client: Client, tmp_path: Path) -> None:
    """C67."""
    mark = tmp_path / "mark"
    first, second = (client.start("leave_mark", {"path": str(mark)}) for _ in range(2))
    assert first != second
    assert {client.wait_for(task_id)["status"] for task_id in (first, second)} == {"completed"}
    assert mark.read_text() == "ran\nran\n"


# Who may call


@pytest.mark.parametrize(
    "capabilities",
    [
        {},
        {"tasks": {}},
        {"extensions": {}},
        {"extensions": None},
        {"extensions": {"io.modelcontextprotocol/tasks": None}},
        {"extensions": {"io.modelcontextprotocol/tasks": True}},
        {"extensions": ["io.modelcontextprotocol/tasks"]},
    ],
)
def test_a_client_without_tasks_waits_or_is_refused(platform: Platform, capabilities: Mapping[str, Any]) -> None:
    """TASK-1, TASK-2, C69."""
    with platform.client(capabilities=capabilities) as client:
        assert client.call("slow_compute", {"seconds": 0, "label": "it"}).result == text_result("it took 0 seconds")
        refused = [
            client.call("failing_job"),
            client.call("failing_job", {"unknown": 1}),
            client.get("x"),
            client.cancel("x"),
            client.update("x", {}),
        ]
    required: Json = {"requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}}
    for reply in refused:
        assert (reply.status, reply.error["code"], reply.error["data"]) == (400, -32021, required)


def test_a_handle_does_not_wait_for_a_worker(client: Client, tmp_path: Path) -> None:
    """C68: while every process is busy, the next handle comes at once, and its task is cancelled unseen."""
    held = [client.start("hold", {"path": str(tmp_path / str(n))}) for n in range(4)]
    wait_until(lambda: len(list(tmp_path.iterdir())) == 4, 20.0, "the runs")
    queued = client.call("hold", {"path": str(tmp_path / "queued")}).result
    assert queued["status"] == "working"
    for task_id in (queued["taskId"], *held):
        client.cancel(task_id)
    assert {client.wait_for(task_id)["status"] for task_id in held} == {"cancelled"}
    assert not (tmp_path / "queued").exists()


def test_bytes_of_pictures_arrive_as_they_were(plain: Client) -> None:
    """CALL-2."""
    [image] = plain.call("test_image_content").result["content"]
    assert base64.b64decode(image["data"]).startswith(b"\x89PNG")
    assert image["mimeType"] == "image/png"
