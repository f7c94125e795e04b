"""Requests that are wrong in one way each, and how each must be refused.

`PARKED` in a body or a header stands for the id of a task that waits for a form, `STATE` for the sealed state of a call
to `test_input_required_result_request_state`.
"""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tests.web.door import CLIENT_CAPABILITIES, PROTOCOL_VERSION, VERSION, encode, headers_of, request

NO_ID: Final = object()
"""The answer has no `id` member."""


@dataclass(frozen=True)
class Malformed:
    """A request, and what answers it."""

    why: str
    body: bytes
    headers: Mapping[str, str]
    status: int
    code: int
    id: object = 1
    verb: str = "POST"


CALL: Final = request("tools/call", {"name": "confirm_delete", "arguments": {"filename": "a"}})
"""In order; would make a task."""

BODY: Final = encode(CALL)
HEADERS: Final = headers_of(CALL)


def every() -> list[Malformed]:
    """All of them."""
    return [
        *_bytes(),
        *_envelopes(),
        *_metas(),
        *_headers(),
        *_forms(),
        *_params(),
        *_mirrors(),
        *_updates(),
        *_retries(),
    ]


def _any(*values: Any) -> tuple[Any, ...]:
    """Values of all types."""
    return values


def _raw(why: str, body: bytes, status: int = 400, code: int = -32700, id: object = NO_ID) -> Malformed:  # noqa: A002
    return Malformed(why, body, HEADERS, status, code, id)


def _bytes() -> Iterator[Malformed]:
    """What is not one JSON text."""
    yield _raw("an empty body", b"")
    yield _raw("white space", b" \r\n\t ")
    yield _raw("no JSON", b"hello")
    yield _raw("cut in the middle", BODY[:-5])
    yield _raw("something after the end", BODY + b"x")
    yield _raw("two messages", BODY + BODY)
    yield _raw("two messages on two lines", BODY + b"\n" + BODY)
    yield _raw("single quotes", BODY.replace(b'"', b"'"))
    yield _raw("a comment", b"/* */" + BODY)
    yield _raw("a comma too many", BODY[:-1] + b",}")
    yield _raw("a byte order mark", b"\xef\xbb\xbf" + BODY)
    yield _raw("UTF-16", BODY.decode().encode("utf-16"))
    yield _raw("Latin-1", BODY.replace(b'"a"', b'"\xe9"'))
    yield _raw("an overlong encoding", BODY.replace(b'"a"', b'"\xc0\xaf"'))
    yield _raw("a surrogate in UTF-8", BODY.replace(b'"a"', b'"\xed\xa0\x80"'))
    yield _raw("a truncated character", BODY.replace(b'"a"', b'"\xf0\x9f\x92"'))
    yield _raw("a NUL byte in a string", BODY.replace(b'"a"', b'"\x00"'))
    yield _raw("a NUL byte after the end", BODY + b"\x00")
    yield _raw("a line break in a string", BODY.replace(b'"a"', b'"\n"'))
    yield _raw("an unknown escape", BODY.replace(b'"a"', rb'"\x"'))
    yield _raw("half an escape", BODY.replace(b'"a"', rb'"\u00"'))
    yield _raw("a high surrogate alone", BODY.replace(b'"a"', rb'"\ud800"'))
    yield _raw("a low surrogate alone", BODY.replace(b'"a"', rb'"\udc00"'))
    yield _raw("surrogates in the wrong order", BODY.replace(b'"a"', rb'"\udc00\ud800"'))
    yield _raw("a surrogate in a member's name", BODY.replace(b'"filename"', rb'"\ud800"'))
    for number in (b"NaN", b"Infinity", b"-Infinity", b"01", b"+1", b".5", b"1.", b"1e", b"0x1", b"1_000", b"--1"):
        yield _raw(f"the number {number.decode()}", BODY.replace(b'"a"', number))
    yield _raw("a number too large to read", BODY.replace(b'"a"', b"1e999"))
    yield _raw("an integer too large for a double", BODY.replace(b'"a"', b"-1" + b"0" * 309))
    yield _raw("an integer of 10,000 digits", BODY.replace(b'"a"', b"9" * 10_000))
    for word in (b"True", b"None", b"undefined", b"nul"):
        yield _raw(f"the word {word.decode()}", BODY.replace(b'"a"', word))
    for depth in (101, 2_000, 100_000):
        yield _raw(f"arrays {depth} deep", BODY.replace(b'"a"', b"[" * depth + b"]" * depth))
        yield _raw(f"objects {depth} deep", BODY.replace(b'"a"', b'{"a":' * depth + b"1" + b"}" * depth))
    yield _raw("the id twice", BODY.replace(b'"id": 1', b'"id": 1, "id": 2'))
    yield _raw("the method twice", BODY.replace(b'"method"', b'"method": "tools/list", "method"'))
    yield _raw("the params twice", BODY.replace(b'"params"', b'"params": {}, "params"'))
    yield _raw("an argument twice", BODY.replace(b'"filename"', b'"filename": "b", "filename"'))
    yield _raw("one name in two spellings", BODY.replace(b'"filename"', rb'"file\u006eame": "b", "filename"'))


def _envelope(why: str, message: object, id: object = NO_ID, code: int = -32600) -> Malformed:  # noqa: A002
    return Malformed(why, encode(message), HEADERS, 400, code, id)


def _without(message: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in message.items() if name not in names}


def _envelopes() -> Iterator[Malformed]:
    """JSON that is not one JSON-RPC request."""
    yield _envelope("an empty batch", [])
    yield _envelope("a batch of one", [CALL])
    yield _envelope("a batch of two", [CALL, {**CALL, "id": 2}])
    yield _envelope("a string", "tools/call")
    yield _envelope("a number", 7)
    yield _envelope("null", None)
    yield _envelope("true", True)
    yield _envelope("an empty object", {})
    yield _envelope("no jsonrpc", _without(CALL, "jsonrpc"), 1)
    for version in ("1.0", "2", 2.0, 2, None, ["2.0"], " 2.0"):
        yield _envelope(f"jsonrpc {version!r}", {**CALL, "jsonrpc": version}, 1)
    for wrong in _any(None, True, False, 1.5, 1.0, [], [1], {}, {"a": 1}):
        yield _envelope(f"the id {wrong!r}", {**CALL, "id": wrong})
    yield _envelope("no method", _without(CALL, "method"), 1)
    for method in _any(None, 7, True, [], {}, ["tools/call"]):
        yield _envelope(f"the method {method!r}", {**CALL, "method": method}, 1)
    yield _envelope("a response", {"jsonrpc": "2.0", "id": 1, "result": {}}, 1)
    yield _envelope("an error response", {"jsonrpc": "2.0", "id": "x", "error": {"code": 1, "message": ""}}, "x")
    yield _envelope("an error response without an id", {"jsonrpc": "2.0", "error": {"code": 1, "message": ""}})
    for params in _any(None, [], ["confirm_delete"], "x", 7, True):
        yield _envelope(f"the params {params!r}", {**CALL, "params": params}, 1)
    yield _envelope("a text id beside a wrong version", {**CALL, "jsonrpc": "3", "id": ""}, "")
    yield _envelope("a huge id beside a wrong version", {**CALL, "jsonrpc": "3", "id": 10**30}, 10**30)


def _meta(why: str, meta: object, code: int = -32602) -> Malformed:
    params = {**CALL["params"], "_meta": meta} if meta is not NO_ID else _without(CALL["params"], "_meta")
    return Malformed(why, encode({**CALL, "params": params}), HEADERS, 400, code)


def _metas() -> Iterator[Malformed]:
    """`_meta` without what every request must say."""
    whole = CALL["params"]["_meta"]
    yield _meta("no _meta", NO_ID)
    for wrong in _any(None, [], "x", 7, True):
        yield _meta(f"_meta {wrong!r}", wrong)
    yield _meta("an empty _meta", {})
    yield _meta("no version", _without(whole, PROTOCOL_VERSION))
    for version in _any(None, 20260728, [VERSION], {}, True):
        yield _meta(f"the version {version!r}", {**whole, PROTOCOL_VERSION: version})
    for version in _any("", "2025-11-25", "1900-01-01", VERSION + " ", VERSION.replace("-", "")):
        yield _meta(
            f"a version that differs from the header: {version!r}", {**whole, PROTOCOL_VERSION: version}, -32020
        )
    yield _meta("no capabilities", _without(whole, CLIENT_CAPABILITIES))
    for capabilities in _any(None, [], "x", 7, True):
        yield _meta(f"the capabilities {capabilities!r}", {**whole, CLIENT_CAPABILITIES: capabilities})
    for token in _any([], {}, 1.5, True):
        yield _meta(f"the progress token {token!r}", {**whole, "progressToken": token})
    for key in _any("", 7, None, [], "x" * 257):
        yield _meta(f"the idempotency key {str(key)[:9]!r}", {**whole, "io.coatcheck/idempotencyKey": key})


def _header(why: str, changes: Mapping[str, str | None], status: int = 400, code: int = -32020) -> Malformed:
    """Headers to leave out (None) or to send otherwise. Those that are checked before the body is read lose its id."""
    headers = {**{name: value for name, value in HEADERS.items() if name not in changes}}
    headers |= {name: value for name, value in changes.items() if value is not None}
    return Malformed(why, BODY, headers, status, code, 1 if code == -32020 or status == 404 else NO_ID)


def _headers() -> Iterator[Malformed]:
    """Headers that do not mirror the body."""
    yield _header("no version header", {"MCP-Protocol-Version": None})
    for version in _any("", "2025-11-25", "2026-07-28, 2026-07-28", '"2026-07-28"', "=?base64?MjAyNi0wNy0yOA==?="):
        yield _header(f"the version header {version!r}", {"MCP-Protocol-Version": version})
    yield _header("no method header", {"Mcp-Method": None})
    for method in _any(
        "", "tools/list", "Tools/Call", "tools/call, tools/call", "tools", "=?base64?dG9vbHMvY2FsbA==?="
    ):
        yield _header(f"the method header {method!r}", {"Mcp-Method": method})
    yield _header("no name header", {"Mcp-Name": None})
    encoded = base64.b64encode(b"confirm_delete").decode()
    for name in (
        "",
        "greet",
        "Confirm_Delete",
        "confirm_delete, confirm_delete",
        "confirm_deleté",
        "=?base64??=",
        f"=?base64?{encoded}",
        f"=?base64?{encoded}=?=",
        f"=?base64?{encoded[:-1]}?=",
        "=?base64?!!!!?=",
        "=?base64?/////w==?=",
        f"=?BASE64?{encoded}?=",
        f"=?base64? {encoded}?=",
        f"=?utf-8?q?{encoded}?=",
        "=?base64?Z3JlZXQ=?=",
    ):
        yield _header(f"the name header {name!r}", {"Mcp-Name": name})


def _forms() -> Iterator[Malformed]:
    """Requests that are refused before their body is read."""
    for kind in _any(
        None, "", "text/plain", "application/xml", "application/json-rpc", "application/jsonx", "json", "*/*"
    ):
        yield _header(f"the content type {kind!r}", {"Content-Type": kind}, 415, -32600)
    for accept in ("text/html", "application/xml", "text/*;q=0, application/*;q=0", "application/json;q=0", "image/*"):
        yield _header(f"accepts {accept!r} only", {"Accept": accept}, 406, -32600)
    for origin in (
        "https://evil.test",
        "null",
        "http://localhost.evil.test",
        "https://127.0.0.1.evil.test",
        "file://",
        "x",
    ):
        yield _header(f"the origin {origin!r}", {"Origin": origin}, 403, -32600)
    for host in ("evil.test", "localhost.evil.test", "127.0.0.1.evil.test:80", "0.0.0.0", "10.0.0.1", "[::2]", "a@b@c"):
        yield _header(f"the host {host!r}", {"Host": host}, 403, -32600)
    for verb in ("GET", "DELETE", "PUT", "PATCH", "OPTIONS", "TRACE"):
        yield Malformed(f"the verb {verb}", BODY, HEADERS, 405, -32600, NO_ID, verb=verb)


def _param(
    why: str, method: str, params: Mapping[str, Any], status: int = 400, code: int = -32602, name: str | None = None
) -> Malformed:
    message = request(method, params)
    headers = headers_of({**message, "params": {} if name is not None else params})
    return Malformed(why, encode(message), {**headers, "Mcp-Name": name} if name is not None else headers, status, code)


def _params() -> Iterator[Malformed]:
    """Methods and parameters that do not exist or are of the wrong type."""
    for method in (
        "",
        "x",
        "Tools/Call",
        "tools/call ",
        "tools",
        "ping",
        "initialize",
        "logging/setLevel",
        "tasks/list",
    ):
        yield _param(
            f"the method {method!r}",
            method,
            {},
            404 if method.strip() == method else 400,
            -32601 if method.strip() == method else -32020,
        )
    for method in ("tasks/result", "tasks/status", "resources/subscribe", "sampling/createMessage", "rpc.discover"):
        yield _param(f"the method {method!r}", method, {}, 404, -32601)
    call = {"name": "confirm_delete", "arguments": {"filename": "a"}}
    yield _param("no tool name", "tools/call", _without(call, "name"), name="confirm_delete")
    for name in _any(None, 7, [], {}, True):
        yield _param(f"the tool name {name!r}", "tools/call", {**call, "name": name}, name="confirm_delete")
    for name in ("no_such_tool", "", "Confirm_Delete", "__class__", "accept", "coatcheck.confirm_delete", "x" * 500):
        yield _param(f"the unknown tool {name[:9]!r}", "tools/call", {**call, "name": name})
    for arguments in _any(None, [], ["a"], "x", '{"filename": "a"}', 7, True):
        yield _param(f"the arguments {arguments!r}", "tools/call", {**call, "arguments": arguments})
    for cursor in _any(None, 7, [], {}, True, "", "x", "MTA=", "Z3JlZXQ"):
        yield _param(f"the cursor {cursor!r}", "tools/list", {"cursor": cursor})
    for method in ("tasks/get", "tasks/cancel", "tasks/update"):
        answers: dict[str, Any] = {"inputResponses": {}} if method == "tasks/update" else {}
        yield _param(f"{method} without an id", method, answers, name="PARKED")
        for task_id in _any(None, 7, [], {}):
            yield _param(f"{method} of {task_id!r}", method, {"taskId": task_id, **answers}, name="PARKED")
        for task_id in _any("", "x", "0" * 32, "PARKED0", "*", "..", "a:b", "\u00e9", "x" * 5_000):
            header = f"=?base64?{base64.b64encode(task_id.encode()).decode()}?=" if not task_id.isascii() else task_id
            yield _param(f"{method} of {task_id[:9]!r}", method, {"taskId": task_id, **answers}, name=header)


def _mirror(why: str, arguments: Mapping[str, Any], headers: Mapping[str, str], tool: str = "routed") -> Malformed:
    message = request("tools/call", {"name": tool, "arguments": arguments})
    return Malformed(why, encode(message), {**headers_of(message), **headers}, 400, -32020)


def _mirrors() -> Iterator[Malformed]:
    """Arguments whose headers do not say the same."""
    yield _mirror("an argument without its header", {"region": "eu"}, {})
    yield _mirror("a header without its argument", {}, {"Mcp-Param-Region": "eu"})
    yield _mirror("a header of an argument that is null", {"region": None}, {"Mcp-Param-Region": "eu"})
    for region in ("us", "EU", "eu, eu", "", '"eu"', "=?base64?dXM=?=", "=?base64?ZXU?=", "=?base64?ZXV=?=", "é"):
        yield _mirror(f"the text header {region!r}", {"region": "eu"}, {"Mcp-Param-Region": region})
    for level in ("2", "one", "", "1,1", "0x1", "1e9999", "NaN", "=?base64?Mg==?=", "1 0"):
        yield _mirror(f"the number header {level!r}", {"level": 1}, {"Mcp-Param-Level": level})
    for dry in ("false", "True", "1", "yes", ""):
        yield _mirror(f"the boolean header {dry!r}", {"dry": True}, {"Mcp-Param-Dry": dry})
    yield _mirror("a nested argument without its header", {"where": {"zone": "a"}}, {}, "nested")
    yield _mirror("a header of nothing nested", {"where": {}}, {"Mcp-Param-Zone": "a"}, "nested")


def _update(why: str, params: Mapping[str, Any]) -> Malformed:
    return _param(why, "tasks/update", {"taskId": "PARKED", **params})


def _updates() -> Iterator[Malformed]:
    """Answers that do not fit the form that was shown."""
    yield _update("no answers", {})
    for wrong in _any(None, [], "x", 7, True):
        yield _update(f"the answers {wrong!r}", {"inputResponses": wrong})
    for answer in _any(None, [], "yes", 7, True, {}):
        yield _update(f"the answer {answer!r}", {"inputResponses": {"person": answer}})
    for action in _any(None, "later", "Accept", "", 7, ["accept"], {}):
        yield _update(f"the action {action!r}", {"inputResponses": {"person": {"action": action}}})
    right = {"name": "Ann", "age": 20}
    contents: list[Any] = [None, {}, 7, "x", [], [right], _without(right, "name"), _without(right, "age")]
    contents += [{**right, "name": name} for name in _any(None, 7, "", [], {"first": "Ann"})]
    contents += [{**right, "age": age} for age in ("18", 17, True, 18.5, None, [20], 10**300)]
    contents += [{**right, "colour": colour} for colour in ("x", "Red", None, 1, ["red"])]
    contents += [{**right, "tags": tags} for tags in ("a", ["a", "b", "c"], ["x"], [1], {"a": 1}, None)]
    contents += [{**right, "day": day} for day in ("2026-13-01", "28.07.2026", "", 20260728, None)]
    for content in contents:
        why = f"the content {str(content)[:60]}"
        yield _update(why, {"inputResponses": {"person": {"action": "accept", "content": content}}})


def _retry(why: str, **params: Any) -> Malformed:
    return _param(why, "tools/call", {"name": "test_input_required_result_request_state", "arguments": {}, **params})


def _retries() -> Iterator[Malformed]:
    """Retries of a synchronous call with a state or an answer that is not its own."""
    answer = {"confirm": {"action": "accept", "content": {"ok": True}}}
    for state in _any(None, 7, [], {}, "", "x", "x.y.z", "STATEx", "xSTATE", "STATE.STATE", "STATE ", "é"):
        yield _retry(f"the state {state!r}", requestState=state, inputResponses=answer)
    for answers in _any(None, [], "x", 7):
        yield _retry(f"the state with the answers {answers!r}", requestState="STATE", inputResponses=answers)
    for wrong in (
        7,
        "yes",
        None,
        {"action": "later"},
        {"action": "accept"},
        {"action": "accept", "content": {"ok": 1}},
    ):
        yield _retry(f"the state with the answer {wrong!r}", requestState="STATE", inputResponses={"confirm": wrong})
    other = {"name": "test_input_required_result_tampered_state", "arguments": {}, "inputResponses": answer}
    yield _param("the state of another tool", "tools/call", {**other, "requestState": "STATE"})
    order = {"name": "order", "arguments": {"item": "tea"}}
    first: Any = {"size": {"action": "accept", "content": {"size": 1}}}
    yield _param("a first answer of a wrong type", "tools/call", {**order, "inputResponses": first})
    first = {"buyer": {"action": "accept", "content": {"name": "root"}}}
    yield _param("a first answer that its author refuses", "tools/call", {**order, "inputResponses": first})
