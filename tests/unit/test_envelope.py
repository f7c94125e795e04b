"""JSON-RPC, `_meta` and mirrored headers around every request."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coatcheck.web.errors import HeaderMismatch, InvalidMessage, InvalidParams, UnsupportedVersion, WebError
from coatcheck.web.protocol.envelope import (
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    IDEMPOTENCY_KEY,
    MAX_IDEMPOTENCY_KEY,
    PROTOCOL_VERSION,
    SUPPORTED_VERSIONS,
    TASK_METHODS,
    TASKS_EXTENSION,
    Request,
    message_of,
    readable_id,
    request_of,
)

MODERN = SUPPORTED_VERSIONS[0]
META = {PROTOCOL_VERSION: MODERN, CLIENT_CAPABILITIES: {}}
TASK_ID = "3" + "ab" * 16
ABSENT = object()


def body(method: object = "tools/list", *, meta: object = META, **params: object) -> dict[str, Any]:
    """A request's body, with `_meta` unless that is ABSENT."""
    carried = {} if meta is ABSENT else {"_meta": meta}
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, **carried}}


def headers(method: str = "tools/list", **changed: str | None) -> dict[str, str]:
    """The headers that go with a body; None leaves one out."""
    sent = {"mcp-protocol-version": MODERN, "mcp-method": method}
    sent |= {name.replace("_", "-"): value for name, value in changed.items() if value is not None}
    return {name: value for name, value in sent.items() if changed.get(name.replace("-", "_"), "") is not None}


def read(message: Mapping[str, Any], sent: Mapping[str, str]) -> Request:
    """The request, as the dispatch reads it."""
    lowered = {name.lower(): value for name, value in sent.items()}
    parsed = message_of(message)
    assert parsed.id is not None
    return request_of(parsed, parsed.id, lambda name: lowered.get(name.lower()))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON_VALUES,
        "id": st.integers() | JSON_VALUES,
        "method": st.sampled_from(["tools/list", "tools/call", "tasks/get", "initialize"]) | JSON_VALUES,
        "params": st.fixed_dictionaries(
            {},
            optional={
                "name": st.just("greet") | JSON_VALUES,
                "taskId": st.just(TASK_ID) | JSON_VALUES,
                "_meta": JSON_VALUES
                | st.fixed_dictionaries(
                    {},
                    optional={
                        PROTOCOL_VERSION: st.just(MODERN) | JSON_VALUES,
                        CLIENT_CAPABILITIES: st.just({}) | JSON_VALUES,
                    },
                ),
            },
        )
        | JSON_VALUES,
    },
)
SENT = st.fixed_dictionaries(
    {},
    optional={
        "mcp-protocol-version": st.just(MODERN) | st.text(max_size=8),
        "mcp-method": st.sampled_from(["tools/list", "tools/call", "tasks/get"]) | st.text(max_size=8),
        "mcp-name": st.sampled_from(["greet", TASK_ID]) | st.text(max_size=8),
    },
)


@given(MESSAGES | JSON_VALUES, SENT)
def test_any_body_with_any_headers_is_served_or_refused_with_a_declared_error(
    message: Any, sent: dict[str, str]
) -> None:
    """RPC-1, RPC-2, HDR-1, HDR-2, HDR-3: and what is served says the same in the body and in the headers."""
    request_id = readable_id(message)
    try:
        parsed = message_of(message)
    except InvalidMessage:
        return
    assert parsed.id == request_id
    if parsed.id is None:
        assert "id" not in message
        return
    try:
        request = request_of(parsed, parsed.id, sent.get)
    except WebError:
        return
    assert request.id == message["id"]
    assert type(request.id) is type(message["id"])
    assert sent["mcp-method"].strip(" \t") == request.method
    assert sent["mcp-protocol-version"].strip(" \t") == request.meta[PROTOCOL_VERSION] == MODERN


@pytest.mark.parametrize("request_id", [0, -1, 1, "", "a", 2**70])
def test_an_id_is_a_string_or_an_integer_of_any_size(request_id: object) -> None:
    """RPC-1."""
    message = body() | {"id": request_id}
    assert message_of(message).id == readable_id(message) == request_id


@pytest.mark.parametrize("request_id", [None, True, False, 1.5, 1.0, [], {}])
def test_an_id_of_another_type_is_refused_and_is_no_notification(request_id: object) -> None:
    """RPC-1, C49."""
    message = body() | {"id": request_id}
    assert readable_id(message) is None
    with pytest.raises(InvalidMessage):
        message_of(message)


@pytest.mark.parametrize(
    "wrong",
    [
        [],
        [body()],
        "x",
        1,
        None,
        {},
        {"id": 1, "method": "tools/list"},
        {"jsonrpc": "1.0", "id": 1, "method": "tools/list"},
        {"jsonrpc": 2.0, "id": 1, "method": "tools/list"},
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "2.0", "id": 1, "method": 7},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": None},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": []},
    ],
)
def test_what_is_no_request_or_notification_is_refused(wrong: object) -> None:
    """HTTP-1, RPC-1."""
    with pytest.raises(InvalidMessage):
        message_of(wrong)


def test_the_id_of_a_wrong_message_is_still_echoed() -> None:
    """RPC-1."""
    assert readable_id({"id": 5, "method": None}) == 5


@pytest.mark.parametrize(
    ("meta", "sent", "fault"),
    [
        (META, headers(mcp_protocol_version=None), HeaderMismatch),
        (META, headers(mcp_protocol_version="2025-11-25"), HeaderMismatch),
        (META, headers(mcp_protocol_version=f"{MODERN},{MODERN}"), HeaderMismatch),
        (META, headers(mcp_method=None), HeaderMismatch),
        (META, headers(mcp_method="tools/call"), HeaderMismatch),
        (META, headers(mcp_method="Tools/List"), HeaderMismatch),
        (META | {PROTOCOL_VERSION: "2025-11-25"}, headers(), HeaderMismatch),
        (META | {PROTOCOL_VERSION: "1900-01-01"}, headers(mcp_protocol_version="1900-01-01"), UnsupportedVersion),
        (META | {PROTOCOL_VERSION: 7}, headers(), InvalidParams),
        (META | {PROTOCOL_VERSION: None}, headers(), InvalidParams),
        (META | {CLIENT_CAPABILITIES: None}, headers(), InvalidParams),
        (META | {CLIENT_CAPABILITIES: []}, headers(), InvalidParams),
        ({PROTOCOL_VERSION: MODERN}, headers(), InvalidParams),
        ({CLIENT_CAPABILITIES: {}}, headers(), InvalidParams),
        ({}, headers(), InvalidParams),
        (ABSENT, headers(), InvalidParams),
        (ABSENT, headers(mcp_protocol_version="2025-11-25"), UnsupportedVersion),
        ([], headers(), InvalidParams),
        (None, headers(), InvalidParams),
    ],
)
def test_version_method_and_meta_are_checked(meta: object, sent: dict[str, str], fault: type[WebError]) -> None:
    """HDR-1, HDR-2, RPC-2, RPC-3, C55."""
    with pytest.raises(fault):
        read(body(meta=meta), sent)


def test_an_unsupported_version_is_told_what_is_spoken() -> None:
    """RPC-3."""
    with pytest.raises(UnsupportedVersion) as refused:
        read(body(meta=META | {PROTOCOL_VERSION: "1900-01-01"}), headers(mcp_protocol_version="1900-01-01"))
    assert refused.value.data == {"supported": list(SUPPORTED_VERSIONS), "requested": "1900-01-01"}


@pytest.mark.parametrize("asked", ["2025-06-18", None, 7])
def test_an_older_client_that_opens_a_session_is_told_what_is_spoken(asked: object) -> None:
    """RPC-4, C54."""
    with pytest.raises(UnsupportedVersion) as refused:
        read({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": asked}}, {})
    assert refused.value.data == {
        "supported": list(SUPPORTED_VERSIONS),
        "requested": asked if isinstance(asked, str) else "",
    }


def test_header_names_ignore_case_and_values_lose_the_white_space_around_them() -> None:
    """HDR-2."""
    sent = {"MCP-PROTOCOL-VERSION": f" {MODERN}\t", "mcp-METHOD": "  tools/list "}
    assert read(body(), sent).method == "tools/list"


@pytest.mark.parametrize(
    ("method", "param", "value"), [("tools/call", "name", "greet"), ("tasks/get", "taskId", TASK_ID)]
)
def test_the_name_that_a_header_mirrors_is_the_same_in_both_places(method: str, param: str, value: str) -> None:
    """HDR-3, C56, C61."""
    assert read(body(method, **{param: value}), headers(method, mcp_name=value)).params[param] == value
    for sent in (headers(method, mcp_name="other"), headers(method, mcp_name=f"{value},{value}")):
        with pytest.raises(HeaderMismatch):
            read(body(method, **{param: value}), sent)
    for params in ({}, {param: 7}, {param: None}):
        with pytest.raises(InvalidParams):
            read(body(method, **params), headers(method, mcp_name=value))


def test_a_call_without_its_name_in_a_header_is_refused() -> None:
    """HDR-3."""
    with pytest.raises(HeaderMismatch):
        read(body("tools/call", name="greet"), headers("tools/call"))


@pytest.mark.parametrize("method", sorted(TASK_METHODS))
def test_a_task_method_without_its_name_in_a_header_is_served_unless_it_is_required(method: str) -> None:
    """HDR-3, K4.9."""
    message = message_of(body(method, taskId=TASK_ID))
    lowered = {name.lower(): value for name, value in headers(method).items()}
    request = read(body(method, taskId=TASK_ID), headers(method))
    assert (request.name, request.lacks_name) == (TASK_ID, True)
    assert not read(body(method, taskId=TASK_ID), headers(method, mcp_name=TASK_ID)).lacks_name
    with pytest.raises(HeaderMismatch):
        request_of(message, 1, lambda name: lowered.get(name.lower()), requires_task_name=True)


@pytest.mark.parametrize(
    ("info", "name"), [(None, ""), ("x", ""), ({}, ""), ({"name": 5}, ""), ({"name": "fastmcp"}, "fastmcp")]
)
def test_a_client_can_name_itself(info: object, name: str) -> None:
    """K4.9."""
    assert read(body(meta=META | {CLIENT_INFO: info}), headers()).client_name == name


@pytest.mark.parametrize(
    ("declared", "has_tasks"),
    [
        ({}, False),
        ({"tasks": {}}, False),
        ({"extensions": None}, False),
        ({"extensions": {TASKS_EXTENSION: None}}, False),
        ({"extensions": {TASKS_EXTENSION: True}}, False),
        ({"extensions": {TASKS_EXTENSION: {}}}, True),
    ],
)
def test_only_the_extension_itself_declares_tasks(declared: dict[str, object], has_tasks: bool) -> None:
    """TASK-1, C69."""
    assert read(body(meta=META | {CLIENT_CAPABILITIES: declared}), headers()).declares_tasks is has_tasks


@pytest.mark.parametrize("key", ["", "x" * (MAX_IDEMPOTENCY_KEY + 1), 7, None, ["x"]])
def test_an_idempotency_key_that_cannot_be_used_is_refused(key: object) -> None:
    """C67."""
    with pytest.raises(InvalidParams):
        _ = read(body(meta=META | {IDEMPOTENCY_KEY: key}), headers()).idempotency_key


def test_an_idempotency_key_is_optional() -> None:
    """C67."""
    assert read(body(), headers()).idempotency_key == ""
    assert read(body(meta=META | {IDEMPOTENCY_KEY: "k"}), headers()).idempotency_key == "k"


def test_a_progress_token_is_a_string_or_an_integer() -> None:
    """CALL-4."""
    assert read(body(), headers()).progress_token is None
    assert read(body(meta=META | {"progressToken": 0}), headers()).progress_token == 0
    with pytest.raises(InvalidParams):
        _ = read(body(meta=META | {"progressToken": True}), headers()).progress_token


def test_the_trace_context_is_carried_as_far_as_it_is_text() -> None:
    """RPC-7."""
    meta = META | {"traceparent": "00-aa-bb-01", "tracestate": 7, "baggage": "x" * 10_000}
    assert read(body(meta=meta), headers()).trace == {"traceparent": "00-aa-bb-01"}
