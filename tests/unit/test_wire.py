"""Results, errors and tasks as clients see them: compared whole, and read by the official models where those exist."""

import json
from typing import Any

import mcp_types
import pytest

from coatcheck.tasks_store import Status, Task, TaskError
from coatcheck.web.errors import JsonRpcError
from coatcheck.web.protocol import serialization as wire
from coatcheck.web.protocol.envelope import RequestId

SERVER = {"name": "coatcheck", "version": "1"}
TASK_ID = "3" + "ab" * 16


def task(status: Status, **more: Any) -> Task:
    """A task that was created at a round time and updated a bit later."""
    return Task(TASK_ID, "greet", status, 1_790_000_000_000, 1_790_000_000_007, 60_000, 500, "Message", **more)


SHOWN = {
    "taskId": TASK_ID,
    "statusMessage": "Message",
    "createdAt": "2026-09-21T14:13:20.000Z",
    "lastUpdatedAt": "2026-09-21T14:13:20.007Z",
    "ttlMs": 60_000,
    "pollIntervalMs": 500,
}


def sent(result: wire.Result, request_id: RequestId = 1) -> dict[str, Any]:
    """The result after its way over the wire."""
    message = json.loads(wire.result_message(request_id, result, SERVER))
    assert message["jsonrpc"] == "2.0"
    assert message["id"] == request_id
    assert message.keys() == {"jsonrpc", "id", "result"}
    result = message["result"]
    assert isinstance(result, dict)
    return result


def test_a_created_task_is_flat_and_says_nothing_of_its_inside() -> None:
    """TASK-3, RPC-5, C71."""
    parked = task(Status.INPUT_REQUIRED, input_requests={"k": b"{}"})
    meta = {wire.SERVER_INFO: SERVER}
    assert sent(wire.create_task_result(task(Status.WORKING))) == {
        "resultType": "task",
        "status": "working",
        **SHOWN,
        "_meta": meta,
    }
    assert sent(wire.create_task_result(parked)) == {
        "resultType": "task",
        "status": "input_required",
        **SHOWN,
        "_meta": meta,
    }


RESULT = b'{"resultType":"complete","content":[],"isError":false,"_meta":{"x":1}}'
REQUEST = b'{"method":"elicitation/create","params":{"message":"\xc3\xa9"}}'


@pytest.mark.parametrize(
    ("one", "more"),
    [
        (task(Status.WORKING), {}),
        (task(Status.CANCELLED), {}),
        (
            task(Status.INPUT_REQUIRED, input_requests={"b": REQUEST, "a": REQUEST}),
            {"inputRequests": {"b": json.loads(REQUEST), "a": json.loads(REQUEST)}},
        ),
        (task(Status.COMPLETED, result=RESULT), {"result": json.loads(RESULT)}),
        (
            task(Status.FAILED, error=TaskError(-32050, "No", b'{"a":1}')),
            {"error": {"code": -32050, "message": "No", "data": {"a": 1}}},
        ),
        (task(Status.FAILED, error=TaskError(-32603, "No")), {"error": {"code": -32603, "message": "No"}}),
    ],
)
def test_a_task_shows_what_belongs_to_its_status_and_no_more(one: Task, more: dict[str, object]) -> None:
    """TASK-6, RPC-5, C71."""
    assert sent(wire.get_task_result(one)) == {
        "resultType": "complete",
        "status": one.status.value,
        **SHOWN,
        **more,
        "_meta": {wire.SERVER_INFO: SERVER},
    }


@pytest.mark.parametrize(
    ("reported", "meta"),
    [
        (b'{"progress":2,"total":8,"message":"Counting"}', {"io.coatcheck/progress": {"progress": 2, "total": 8}}),
        (b'{"progress":2}', {}),
        (b'{"progress":2,"total":null}', {}),
        (b"", {}),
    ],
)
def test_a_task_says_how_far_of_how_much_it_has_come(reported: bytes, meta: dict[str, object]) -> None:
    """K5.5."""
    one = task(Status.WORKING, progress=reported)
    assert sent(wire.get_task_result(one))["_meta"] == {**meta, wire.SERVER_INFO: SERVER}
    told = json.loads(wire.task_notification("s", one))["params"]
    assert told["_meta"] == {**meta, wire.SUBSCRIPTION_ID: "s"}


def test_a_failed_task_always_has_a_status_message() -> None:
    """TASK-6, C86."""
    failed = Task(TASK_ID, "greet", Status.FAILED, 0, 0, 1, 1, "", error=TaskError(-32603, "Why"))
    assert sent(wire.get_task_result(failed))["statusMessage"] == "Why"
    assert "statusMessage" not in sent(wire.create_task_result(Task(TASK_ID, "greet", Status.WORKING, 0, 0, 1, 1, "")))


def test_a_stored_result_is_sent_as_it_was_stored() -> None:
    """CALL-2."""
    assert b'"result":' + RESULT + b"}" in wire.result_message("x", RESULT, SERVER)


@pytest.mark.parametrize("request_id", [0, -1, 2**70, "", "1", "\N{GRINNING FACE}"])
def test_the_id_comes_back_with_its_type(request_id: RequestId) -> None:
    """RPC-1."""
    assert sent(wire.COMPLETE, request_id) == {"resultType": "complete", "_meta": {wire.SERVER_INFO: SERVER}}
    error = json.loads(wire.error_message(request_id, JsonRpcError(-32602, "No", 400)))
    assert error == {"jsonrpc": "2.0", "id": request_id, "error": {"code": -32602, "message": "No"}}


def test_an_error_without_a_readable_id_has_none() -> None:
    """RPC-1, HTTP-1."""
    error = json.loads(wire.error_message(None, JsonRpcError(-32700, "No", 400, data=b'{"a":1}')))
    assert error == {"jsonrpc": "2.0", "error": {"code": -32700, "message": "No", "data": {"a": 1}}}


@pytest.mark.parametrize("token", [7, "t", 2**70])
def test_progress_names_its_token(token: RequestId) -> None:
    """CALL-4."""
    assert json.loads(wire.progress_message(token, {"progress": 1.5, "message": "m"})) == {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": token, "progress": 1.5, "message": "m"},
    }


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (999, "1970-01-01T00:00:00.999Z"),
        (4_102_444_800_001, "2100-01-01T00:00:00.001Z"),
    ],
)
def test_times_have_one_spelling(ms: int, text: str) -> None:
    """TASK-3, C71."""
    assert wire.timestamp(ms) == text


def test_the_store_gets_every_integer_of_a_client_whole() -> None:
    """CALL-1."""
    assert json.loads(wire.compact_json({"n": 2**70, "t": "é"})) == {"n": 2**70, "t": "é"}


def test_discovery_says_what_is_served_and_no_more() -> None:
    """DISC-1, LIST-2, C53."""
    shown = sent(wire.discover_result("Be kind.", 60_000, "public"))
    assert shown == {
        "resultType": "complete",
        "supportedVersions": ["2026-07-28"],
        "capabilities": {
            "tools": {},
            "extensions": {"io.modelcontextprotocol/tasks": {}, "io.coatcheck/idempotency": {}},
        },
        "instructions": "Be kind.",
        "ttlMs": 60_000,
        "cacheScope": "public",
        "_meta": {wire.SERVER_INFO: SERVER},
    }
    assert mcp_types.DiscoverResult.model_validate(shown).supported_versions == ["2026-07-28"]
    assert "instructions" not in sent(wire.discover_result("", 0, "public"))


def test_a_page_of_tools_is_read_by_the_official_model() -> None:
    """LIST-1."""
    tool = {"name": "greet", "description": "Greets.", "inputSchema": {"type": "object"}}
    page = mcp_types.ListToolsResult.model_validate(sent(wire.list_tools_result([tool], "next", 0, "private")))
    assert [one.name for one in page.tools] == ["greet"]
    assert page.next_cursor == "next"


def test_what_is_asked_is_read_by_the_official_model() -> None:
    """MRTR-1."""
    request = b'{"method":"roots/list","params":{}}'
    asked = sent(wire.input_required_result({"k": request}, "state"))
    assert asked == {
        "resultType": "input_required",
        "inputRequests": {"k": json.loads(request)},
        "requestState": "state",
        "_meta": {wire.SERVER_INFO: SERVER},
    }
    assert mcp_types.InputRequiredResult.model_validate(asked).request_state == "state"
