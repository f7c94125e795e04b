"""A server that never stops sending costs a bounded amount of memory, and what it says never steers a terminal."""

import gzip
import resource
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import chain, repeat
from typing import Any

import pexpect
import pytest

from coatcheck.client import Coatcheck
from coatcheck.client.command.exits import Exit
from coatcheck.client.errors import AnswerLost, AnswerTooLarge, ServerError
from coatcheck.client.ledger import Ledger
from coatcheck.client.transport import MAX_ANSWER_BYTES
from tests.client.command import Command
from tests.client.scripted import Error, Raw, Result, Scripted, created, discovered, task
from tests.client.test_bridge import host

CHUNK = b"x" * 1_000_000

Body = Callable[[], Iterator[bytes]]


def json_text() -> Iterator[bytes]:
    return chain([b'{"jsonrpc":"2.0","id":1,"result":"'], repeat(CHUNK))


def one_line_of_an_event() -> Iterator[bytes]:
    return chain([b"data: "], repeat(CHUNK))


def one_event_of_many_lines() -> Iterator[bytes]:
    return repeat(b"data: " + CHUNK + b"\n")


def compressed() -> Iterator[bytes]:
    return chain([gzip.compress(b"x" * (MAX_ANSWER_BYTES + 1))], repeat(gzip.compress(CHUNK)))


JSON, EVENTS = "application/json", "text/event-stream"

ENDLESS: list[tuple[str, str, Body]] = [
    ("200 OK", f"Content-Type: {JSON}", json_text),
    ("400 Bad Request", f"Content-Type: {JSON}", json_text),
    ("404 Not Found", f"Content-Type: {JSON}", json_text),
    ("500 Server Error", f"Content-Type: {JSON}", json_text),
    ("200 OK", f"Content-Type: {JSON}\r\nContent-Encoding: gzip", compressed),
    ("200 OK", f"Content-Type: {EVENTS}", one_line_of_an_event),
    ("200 OK", f"Content-Type: {EVENTS}", one_event_of_many_lines),
]


@contextmanager
def endless(status: str, headers: str, body: Body) -> Iterator[tuple[str, list[int]]]:
    """The address of a server that sends for as long as it is read, and how much it has sent to each connection."""
    sent: list[int] = []

    def serve(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            connection.recv(65_536)
            number = len(sent)
            sent.append(0)
            connection.sendall(f"HTTP/1.1 {status}\r\n{headers}\r\n\r\n".encode())
            for part in body():
                connection.sendall(part)
                sent[number] += len(part)

    def accept(listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                serving.append(threading.Thread(target=serve, args=(listening.accept()[0],)))
                serving[-1].start()

    serving: list[threading.Thread] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        accepting = threading.Thread(target=accept, args=(listening,))
        accepting.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", sent
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            accepting.join()
            for thread in serving:
                thread.join()


@pytest.mark.parametrize(("status", "headers", "body"), ENDLESS)
def test_an_answer_is_read_up_to_a_limit(ledger: Ledger, status: str, headers: str, body: Body) -> None:
    """K2.10."""
    with (
        endless(status, headers, body) as (url, sent),
        Coatcheck(url, ledger=ledger.path) as client,
        pytest.raises(AnswerTooLarge),
    ):
        client.discover()
    assert len(sent) == 1
    assert sent[0] < 2 * MAX_ANSWER_BYTES


@pytest.mark.parametrize("content_type", ["text/html", "text/plain"])
@pytest.mark.parametrize(
    "status", ["200 OK", "307 Moved\r\nLocation: /mcp/", "401 No", "403 No", "404 No", "429 No", "500 No", "502 No"]
)
def test_what_is_no_answer_is_not_read_at_all(ledger: Ledger, status: str, content_type: str) -> None:
    """K2.10: the buffers between fill up, and no more is taken."""
    with (
        endless(status, f"Content-Type: {content_type}", json_text) as (url, sent),
        Coatcheck(url, ledger=ledger.path, patience_s=0) as client,
        pytest.raises(ServerError),
    ):
        client.discover()
    assert max(sent) < MAX_ANSWER_BYTES / 2


@pytest.mark.parametrize(("status", "headers", "body"), [ENDLESS[1], ENDLESS[4], ENDLESS[5]])
def test_the_bridge_reads_an_answer_up_to_a_limit(home: object, status: str, headers: str, body: Body) -> None:
    """K2.10."""
    with endless(status, headers, body) as (url, sent), host(url) as bridged:
        for method in ("tools/list", "tools/call"):
            bridged.ask(method, method, name="brew")
            error = bridged.read()["error"]
            assert "larger than 64 MB" in error["message"], error
    assert len(sent) == 2


def test_the_command_ends_soon_and_in_bounded_memory(command: Command) -> None:
    """K2.10."""
    with endless(*ENDLESS[0]) as (url, _):
        ended = command.process("tools", COATCHECK_URL=url)
    assert (ended.code, ended.out) == (Exit.UNREACHABLE, "")
    assert "larger than 64 MB" in ended.err
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 1_000_000  # in kB


def test_pages_of_tools_that_never_end_are_read_up_to_a_limit(ledger: Ledger) -> None:
    """K2.10."""
    tool = {"name": "brew", "description": "x" * 8_000_000, "inputSchema": {"type": "object"}}
    page = {"resultType": "complete", "tools": [tool], "nextCursor": "more", "ttlMs": 0, "cacheScope": "private"}
    with Scripted({"tools/list": Result(page)}) as server, Coatcheck(server.url, ledger=ledger.path) as client:
        with pytest.raises(AnswerTooLarge):
            client.tools()
        assert len(server.of("tools/list")) < 10


def test_a_call_whose_answer_is_too_large_stays_in_the_ledger(ledger: Ledger) -> None:
    """K2.10: its work may have begun."""
    huge = {"resultType": "complete", "content": [{"type": "text", "text": "x" * MAX_ANSWER_BYTES}]}
    with Scripted({"tools/call": Result(huge)}) as server, Coatcheck(server.url, ledger=ledger.path) as client:
        with pytest.raises(AnswerTooLarge):
            client.call("brew")
        assert len(server.of("tools/call")) == 1
    assert [entry.tool for entry in ledger.entries()] == ["brew"]


def test_an_answer_that_trickles_is_given_up(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """K2.10: each byte comes in time, and the whole does not."""
    monkeypatch.setattr("coatcheck.client.transport.ANSWER_S", 0.0)
    with (
        endless("200 OK", f"Content-Type: {JSON}", lambda: repeat(b"x", 10_000)) as (url, _),
        Coatcheck(url, ledger=ledger.path, patience_s=0) as client,
        pytest.raises(AnswerLost, match="within 0 s"),
    ):
        client.discover()


EVIL = "a\x1b]0;owned\x07\x9b2J\u202eb\x7f"
"""Sets the title of a terminal, clears it in 8-bit codes, and turns the text around."""

FORM = {
    "mode": "form",
    "message": EVIL,
    "requestedSchema": {
        "type": "object",
        "properties": {EVIL: {"type": "string", "enum": [EVIL]}, "n": {"type": "integer", "minimum": EVIL}},
    },
}

HOSTILE: list[dict[str, Any]] = [
    {"server/discover": discovered(EVIL)},
    {"server/discover": Error(-32022, EVIL, data={"supported": [EVIL]})},
    {"tools/list": Error(-32603, EVIL)},
    {"tools/list": Result({"resultType": "complete", "tools": [{"name": EVIL, "inputSchema": {"type": "object"}}]})},
    {"tools/list": Raw(403, headers={"WWW-Authenticate": 'Bearer scope="\x9b2J"'})},
    {"tools/call": Error(-32603, EVIL), "tasks/get": Error(-32603, EVIL)},
    {
        "tools/call": Result({"resultType": "complete", "isError": True, "content": [{"type": "text", "text": EVIL}]}),
        "tasks/get": Result(task("failed", statusMessage=EVIL, error={"code": 1, "message": EVIL})),
    },
    {
        "tools/call": Result(
            {
                "resultType": "complete",
                "content": [
                    {"type": "image", "data": "!", "mimeType": EVIL},
                    {"type": "resource_link", "name": EVIL, "uri": "x:y"},
                ],
            }
        ),
        "tasks/get": Result(task("cancelled", statusMessage=EVIL)),
    },
    {
        "tools/call": created(taskId=EVIL, statusMessage=EVIL),
        "tasks/get": Result(
            task("input_required", inputRequests={EVIL: {"method": "elicitation/create", "params": FORM}})
        ),
    },
]

COMMANDS = [
    ("tools",),
    ("discover",),
    ("doctor",),
    ("call", "brew"),
    ("call", "brew", "--arg", "a=b"),
    ("call", "brew", "--detach"),
    ("status", "t-1"),
    ("wait", "t-1"),
    ("answer", "t-1", "x", "--decline"),
    ("cancel", "t-1"),
    ("tickets",),
    ("resume", "--timeout", "0.3"),
]


def harmful(text: str) -> list[str]:
    return [mark for mark in text if mark in EVIL and not mark.isalnum() and mark not in "];"]


@pytest.mark.parametrize("script", HOSTILE)
def test_nothing_that_a_server_says_steers_whoever_reads_standard_error(command: Command, script: Any) -> None:
    """K2.10: results, keys, messages, names and ids."""
    with Scripted(script) as server:
        for arguments in COMMANDS:
            ended = command(*arguments, COATCHECK_URL=server.url)
            assert harmful(ended.err) == [], (arguments, ended)
            if arguments[0] != "tickets":
                told = command(*arguments, "--json", COATCHECK_URL=server.url)
                assert harmful(told.out + told.err) == [], (arguments, told)


@pytest.mark.parametrize(
    ("script", "arguments"), [(HOSTILE[0], "discover"), (HOSTILE[6], "status t-1"), (HOSTILE[8], "call brew")]
)
def test_nor_a_terminal(command: Command, script: Any, arguments: str) -> None:
    """K2.10: a form is shown up to its first question."""
    with Scripted(script) as server, command.terminal(*arguments.split(), COATCHECK_URL=server.url) as terminal:
        terminal.expect([pexpect.EOF, "arrows, then Enter"])
        shown = terminal.before or ""
    assert [mark for mark in ("\x1b]0;", "\x9b", "\u202e") if mark in shown] == [], shown
