"""One endpoint, one POST, one message: what HTTP itself has to do."""

import socket
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until
from tests.web import raw_sockets
from tests.web.door import Door, encode, headers_of, request, text_result

LIST = request("tools/list")
GREET = request("tools/call", {"name": "greet", "arguments": {"name": "Ann"}})
GREETING = {"jsonrpc": "2.0", "id": 1, "result": text_result("Hello, Ann!")}

WAYS_TO_LEAVE = {"close": socket.socket.close, "reset": raw_sockets.reset}


def test_one_post_holds_one_request_and_gets_one_answer(door: Door) -> None:
    """HTTP-1, HTTP-6."""
    reply = door.post(GREET)
    assert (reply.status, reply.headers["content-type"], reply.json) == (200, "application/json", GREETING)


@pytest.mark.parametrize("verb", ["GET", "HEAD", "DELETE", "PUT", "PATCH"])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_other_verbs_are_told_which_one_is_taken(door: Door, verb: str, path: str) -> None:
    """HTTP-2, C54."""
    reply = door.send(b"", {"Accept": "text/event-stream"}, verb=verb, path=path)
    assert (reply.status, reply.headers["allow"]) == (405, "POST")


def test_sessions_and_replay_mean_nothing(door: Door) -> None:
    """HTTP-2, C54: such headers are ignored, and no session is ever made."""
    reply = door.post(GREET, headers={"Mcp-Session-Id": "abc", "Last-Event-ID": "7"})
    assert reply.json == GREETING
    assert "mcp-session-id" not in reply.headers


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_slash_at_the_end_is_no_other_endpoint(door: Door, scheme: str) -> None:
    """C48: a redirect would lose the body."""
    reply = door.send(encode(GREET), {**headers_of(GREET), "X-Forwarded-Proto": scheme}, path="/mcp/")
    assert (reply.status, reply.json) == (200, GREETING)


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON",
        'application/json;charset="utf-8"; x=y',
    ],
)
def test_parameters_of_the_content_type_are_allowed(door: Door, content_type: str) -> None:
    """HTTP-3."""
    assert door.post(GREET, headers={"Content-Type": content_type}).json == GREETING


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        (None, "application/json"),
        ("", "application/json"),
        ("*/*", "application/json"),
        ("application/*", "application/json"),
        ("application/json", "application/json"),
        ("text/html, application/json;q=0.1", "application/json"),
        ("text/event-stream;q=0.9, application/json", "application/json"),
        ("APPLICATION/JSON", "application/json"),
        ("text/event-stream", "text/event-stream; charset=utf-8"),
        ("text/event-stream, application/json;q=0", "text/event-stream; charset=utf-8"),
    ],
)
def test_an_answer_has_a_form_that_the_client_takes(door: Door, accept: str | None, content_type: str) -> None:
    """HTTP-3, C58."""
    headers = {name: value for name, value in headers_of(GREET).items() if name != "Accept"}
    reply = door.send(encode(GREET), headers if accept is None else {**headers, "Accept": accept})
    assert (reply.status, reply.headers["content-type"]) == (200, content_type)
    assert (reply.json if "json" in content_type else reply.events) in (GREETING, [GREETING])


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST:1", "[::1]", "[::1]:8000"])
def test_this_machine_answers_to_its_own_names(door: Door, host: str) -> None:
    """HTTP-4."""
    assert door.post(GREET, headers={"Host": host}).json == GREETING


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("mcp.example.test", 200),
        ("mcp.example.test:443", 200),
        ("MCP.example.test", 200),
        ("evil.test", 403),
        ("mcp.example.test.evil.test", 403),
    ],
)
def test_the_public_name_is_one_setting(narrow: Door, host: str, status: int) -> None:
    """HTTP-4, C59: and what a proxy claims about it counts for nothing."""
    assert narrow.post(GREET, headers={"Host": host}).status == status
    assert narrow.post(GREET, headers={"Host": host, "X-Forwarded-Host": "mcp.example.test"}).status == status


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        (None, 200),
        ("https://app.example.test", 200),
        ("https://mcp.example.test", 200),
        ("http://localhost:3000", 200),
        ("http://app.example.test", 403),
        ("https://app.example.test:8443", 403),
        ("https://evil.test", 403),
        ("null", 403),
    ],
)
def test_web_pages_need_leave_to_call(narrow: Door, origin: str | None, status: int) -> None:
    """HTTP-4, C60."""
    reply = narrow.post(GREET, headers={} if origin is None else {"Origin": origin})
    allowed = origin if origin == "https://app.example.test" else None
    assert (reply.status, reply.headers.get("access-control-allow-origin")) == (status, allowed)
    exposed = None if allowed is None else "Retry-After, WWW-Authenticate"
    assert reply.headers.get("access-control-expose-headers") == exposed
    assert "access-control-allow-credentials" not in reply.headers
    assert status == 200 or "id" not in reply.json


def test_a_browser_is_told_which_pages_may_call(narrow: Door) -> None:
    """C60: the preflight needs no token, and says no more than it has to."""
    asked = "authorization, content-type, mcp-protocol-version, mcp-method, mcp-name, mcp-param-x"
    preflight = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": asked}
    allowed = narrow.send(b"", {**preflight, "Origin": "https://app.example.test"}, verb="OPTIONS")
    assert (allowed.status, allowed.body) == (204, b"")
    assert allowed.headers["access-control-allow-origin"] == "https://app.example.test"
    assert allowed.headers["access-control-allow-headers"] == asked
    assert allowed.headers["access-control-allow-methods"] == "POST"
    for origin in ("https://evil.test", "null"):
        refused = narrow.send(b"", {**preflight, "Origin": origin}, verb="OPTIONS")
        assert refused.status == 403
        assert not [name for name in refused.headers if name.startswith("access-control")]


def test_a_body_over_the_limit_is_refused_before_it_is_read(narrow: Door) -> None:
    """HTTP-5: whatever length is announced, nothing has to be sent. The connection ends, as nobody reads the rest."""
    with raw_sockets.connected(narrow.port) as connection:
        connection.sendall(raw_sockets.head_of({**headers_of(LIST), "Content-Length": str(10**12)}))
        response = raw_sockets.until(connection, b"}}")
    assert raw_sockets.status_of(response) == 413
    assert b'"code":-32600' in response


def test_a_body_over_the_limit_that_is_sent_all_the_same_is_told_why(door: Door) -> None:
    """HTTP-5: and the next connection is served."""
    large = request("tools/call", {"name": "greet", "arguments": {"name": "a" * 1_048_576}})
    reply = door.post(large)
    assert (reply.refusal, "id" in reply.json) == ((413, -32600), False)
    assert door.post(GREET).json == GREETING


def test_a_body_of_unknown_length_has_the_same_limit(narrow: Door) -> None:
    """HTTP-5."""
    with raw_sockets.connected(narrow.port) as connection:
        connection.sendall(raw_sockets.head_of({**headers_of(LIST), "Transfer-Encoding": "chunked"}))
        connection.sendall(b"1388\r\n" + b" " * 0x1388)
        response = raw_sockets.until(connection, b"}}")
    assert raw_sockets.status_of(response) == 413


def test_a_body_in_chunks_is_read_whole(door: Door) -> None:
    """HTTP-1."""
    body = encode(GREET)
    with raw_sockets.connected(door.port) as connection:
        connection.sendall(raw_sockets.head_of({**headers_of(GREET), "Transfer-Encoding": "chunked"}))
        for octet in (body[i : i + 50] for i in range(0, len(body), 50)):
            connection.sendall(b"%x\r\n%s\r\n" % (len(octet), octet))
        connection.sendall(b"0\r\n\r\n")
        assert b"Hello, Ann!" in raw_sockets.until(connection, b"}}")


@pytest.mark.parametrize("framing", [{"Content-Length": "100"}, {"Transfer-Encoding": "chunked"}])
def test_an_unfinished_body_does_not_hold_a_thread(narrow: Door, framing: Mapping[str, str]) -> None:
    """HTTP-5: the request ends, and the server answers others meanwhile."""
    with raw_sockets.connected(narrow.port) as connection:
        connection.sendall(raw_sockets.head_of({**headers_of(LIST), **framing}) + b"1\r\n")
        assert narrow.post(GREET).json == GREETING
        response = raw_sockets.all_of(connection)
    assert response == b"" or raw_sockets.status_of(response) in (400, 408)


def test_a_body_that_drips_is_cut_off(narrow: Door) -> None:
    """HTTP-5: each byte in time is not the whole in time."""
    with raw_sockets.connected(narrow.port) as connection:
        connection.sendall(raw_sockets.head_of({**headers_of(LIST), "Content-Length": "1000"}))
        connection.settimeout(0.1)

        def is_cut_off() -> bool:
            try:
                connection.sendall(b" ")
                return connection.recv(1) is not None
            except TimeoutError:
                return False
            except OSError:
                return True

        wait_until(is_cut_off, 10.0, "the end of the request")


@pytest.mark.parametrize(
    "octets",
    [
        b"\x00\x01\x02\r\n\r\n",
        b"POST /mcp\r\n\r\n",
        b"POST /mcp HTTP/9.9\r\nHost: localhost\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip\r\n\r\n{}",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 20_000 + b"\r\n\r\n",
        b"POST /" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + b"X: y\r\n" * 200 + b"\r\n",
    ],
    ids=range(11),
)
def test_what_is_not_http_is_refused_and_the_connection_ends(platform: Platform, door: Door, octets: bytes) -> None:
    """HTTP-1: with one line in the log at most, and nobody else notices."""
    before = len(platform.webs[0].log)
    with raw_sockets.connected(door.port) as connection:
        connection.sendall(octets)
        response = raw_sockets.all_of(connection)
    assert raw_sockets.status_of(response) in (400, 414, 431, 501, 505)
    assert len(platform.webs[0].log[before:].splitlines()) <= 1
    assert door.post(GREET).json == GREETING


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (-32700, 400),
        (-32600, 400),
        (-32602, 400),
        (-32020, 400),
        (-32021, 400),
        (-32022, 400),
        (-32601, 404),
        (-32603, 200),
        (-31999, 200),
        (7, 200),
    ],
)
def test_the_status_of_an_error_follows_its_code_wherever_it_came_from(plain: Client, code: int, status: int) -> None:
    """HTTP-6."""
    reply = plain.call("refuse", {"code": code})
    assert reply.status == status
    assert reply.error == {"code": code, "message": "refused", "data": {"why": "test"}}


def test_a_store_that_is_away_is_said_so_and_comes_back() -> None:
    """HTTP-6: every method that needs it; then all is well again, without a restart."""
    with Platform(tools="tests.conformance.tools", valkey=Valkey()) as platform:
        client = platform.start(workers=0).client()
        with client:
            task_id = client.start("failing_job")
            platform.valkey.kill()
            for reply in (
                client.get(task_id),
                client.cancel(task_id),
                client.update(task_id, {}),
                client.call("failing_job"),
            ):
                assert (reply.status, reply.error["code"]) == (503, -32603)
                assert int(reply.headers["Retry-After"]) > 0
                assert reply.body["id"]
            assert client.list().status == client.discover().status == 200
            assert client.call("greet", {"name": "Ann"}).result == text_result("Hello, Ann!")
            platform.valkey.start()
            wait_until(lambda: client.call("failing_job").status == 200, 20.0, "a new task")


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "method": "notifications/foo"},
        {"jsonrpc": "2.0", "method": "notifications/initialized", "params": {}},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}},
        {name: value for name, value in GREET.items() if name != "id"},
        {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "leave_mark"}},
    ],
    ids=lambda message: message["method"],
)
def test_a_notification_is_accepted_and_gets_no_answer(door: Door, message: Mapping[str, object]) -> None:
    """HTTP-7, C51."""
    reply = door.send(encode(message), {"Content-Type": "application/json"})
    assert (reply.status, reply.body) == (202, b"")
    assert "content-type" not in reply.headers


def test_a_call_without_an_id_is_not_executed(door: Door, client: Client, tmp_path: Path) -> None:
    """HTTP-7, C51."""
    call = request("tools/call", {"name": "leave_mark", "arguments": {"path": str(tmp_path / "mark")}})
    del call["id"]
    assert door.post(call).status == 202
    client.wait_for(client.start("leave_mark", {"path": str(tmp_path / "other")}))
    assert [file.name for file in tmp_path.iterdir()] == ["other"]


def test_a_stream_is_not_held_back_and_ends_with_its_response(door: Door) -> None:
    """HTTP-8: its first byte leaves at once, so that no proxy waits for it."""
    meta = {"progressToken": "p"}
    call = request("tools/call", {"name": "test_tool_with_progress"}, meta=meta)
    reply = door.post(call)
    assert (reply.status, reply.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert (reply.headers["cache-control"], reply.headers["x-accel-buffering"]) == ("no-cache", "no")
    assert "content-encoding" not in reply.headers
    assert reply.body.startswith(b":")
    assert reply.events[-1] == {"jsonrpc": "2.0", "id": 1, "result": text_result("All steps are done")}
    assert [event["method"] for event in reply.events[:-1]] == ["notifications/progress"] * 3


@pytest.mark.parametrize("how", WAYS_TO_LEAVE)
def test_leaving_a_stream_cancels_the_call(door: Door, tmp_path: Path, how: str) -> None:
    """HTTP-8, CALL-5."""
    mark = tmp_path / "mark"
    call = request("tools/call", {"name": "hold_call", "arguments": {"path": str(mark)}}, meta={"progressToken": 1})
    body = encode(call)
    with raw_sockets.connected(door.port) as connection:
        connection.sendall(raw_sockets.whole(headers_of(call), body))
        raw_sockets.until(connection, b":\n\n")
        wait_until(lambda: mark.exists() and "began" in mark.read_text(), 20.0, "the run")
        WAYS_TO_LEAVE[how](connection)
    wait_until(lambda: "ended" in mark.read_text(), 20.0, "the end of the run")


def test_many_requests_share_a_connection_and_many_connections_a_server(door: Door) -> None:
    """HTTP-1: every answer goes to the request that asked."""
    barrier = threading.Barrier(8)

    def many(caller: int) -> None:
        connection = door.connect()
        barrier.wait()
        for n in range(20):
            name = f"{caller}-{n}"
            call = request("tools/call", {"name": "greet", "arguments": {"name": name}}, id=name)
            assert door.post(call, connection=connection).json["result"] == text_result(f"Hello, {name}!")
        connection.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(many, range(8)))


def test_the_front_door_runs_on_greenlets_and_is_patched_first(platform: Platform) -> None:
    """C47: gevent warns when it patches what was imported before."""
    log = platform.webs[0].log
    assert "Using worker: BoundedGeventWorker" in log
    assert "MonkeyPatchWarning" not in log
