"""The wait for a result: what it costs, and how it ends when the task does not."""

import json
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import psutil
import pytest

from tasks_store import ANONYMOUS, Feed, Task, TaskStore
from tests.legacy.older import Older, events, questions
from tests.streams.conftest import Work
from tests.support.platform import Platform
from tests.support.ports import free_port
from tests.support.tls import self_signed
from tests.support.valkey import Valkey
from web.auth.caller import ANYBODY, Caller
from web.legacy.result_stream import ResultOpening
from web.legacy.revisions import NEWEST
from web.seats import Seats
from web.streams import Streams

STREAMS = 100
"""More than one process has threads."""

SERVER = {"name": "coatcheck", "version": "1"}


def test_waits_for_people_cost_no_threads() -> None:
    """OLD-1, C39: with more of them than threads, everything else is served, and each gets its result."""
    with Platform(tools="tests.web.tools", valkey=Valkey()) as platform, ExitStack() as stack:
        platform.start(concurrency=4)
        older = stack.enter_context(Older(platform.url))
        task_id = older.start("ask_page")
        older.wait_for(task_id, "input_required")
        waiting = []
        for _ in range(STREAMS):
            client = stack.enter_context(Older(platform.url))
            messages = stack.enter_context(client.stream("tasks/result", {"taskId": task_id}))
            waiting.append((messages, next(questions(messages))))
        [server] = psutil.Process(platform.webs[0].pid).children()
        assert server.num_threads() < 50
        assert older.request("ping").result == {}
        assert older.call("give", {"what": "text"}).result["content"]
        older.respond(waiting[0][1]["id"], {"action": "accept"})
        for messages, asked in waiting:
            assert asked["id"] == waiting[0][1]["id"]
            [*_, last] = messages
            assert last["result"]["content"][0]["text"] == "accept"


def test_a_process_that_ends_says_so_and_the_next_one_goes_on() -> None:
    """OLD-1, SUB-2: an error that tells the client to come back, never a stream that breaks."""
    with Platform(tools="tests.web.tools", valkey=Valkey()) as platform:
        platform.start()
        with Older(platform.url) as older:
            task_id = older.start("ask_page")
            with older.stream("tasks/result", {"taskId": task_id}) as messages:
                asked = next(questions(messages))
                platform.restart_web(platform.webs[0])
                [last] = messages
        assert last["error"]["code"] == -32603
        with Older(platform.url) as older, older.stream("tasks/result", {"taskId": task_id}) as messages:
            assert next(questions(messages)) == asked
            with Older(platform.url) as other:
                other.respond(asked["id"], {"action": "decline"})
            [*_, last] = messages
        assert last["result"]["content"][0]["text"] == "decline"


def test_where_a_connection_cannot_be_taken_that_is_said(platform: Platform, tmp_path: Path) -> None:
    """OLD-1: and a plain call is answered all the same, from its thread."""
    certificate, key = self_signed(tmp_path)
    port = free_port()
    command = ["gunicorn", "--config", "web/gunicorn.conf.py", "--certfile", str(certificate), "--keyfile", str(key)]
    with platform.process("web-tls", [*command, "web.wsgi:app"], {"PORT": str(port)}) as web:
        web.wait_for_line("Listening at")
        trust = ssl.create_default_context(cafile=str(certificate))
        with Older(f"https://127.0.0.1:{port}/mcp", verify=trust) as older, Older(platform.url) as other:
            task_id = older.start("ask_page")
            older.wait_for(task_id, "input_required")
            assert older.outcome(task_id).refusal == (501, -32603)
            other.cancel(task_id)
            with older.stream("tools/call", {"name": "ask_page"}) as messages:
                other.respond(next(questions(messages))["id"], {"action": "accept"})
                assert next(messages)["result"]["content"][0]["text"] == "accept"


@pytest.fixture
def streams(store: TaskStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[Streams]:
    """The streams of this process, in a hurry."""
    monkeypatch.setattr("web.streams.LOOK_S", 0.05)
    with closing(Feed(store.settings)) as feed, closing(Streams(store, feed, Seats(9, 0), SERVER)) as streams:
        yield streams


def opened(streams: Streams, task_id: str, caller: Caller = ANYBODY) -> socket.socket:
    """The client's end of a wait for the result of this task."""
    streams.take_seat(ANONYMOUS)
    ours, theirs = socket.socketpair()
    with ours:
        streams.begin(ResultOpening(1, caller, task_id, NEWEST, ended, refused), ours, b"head\r\n\r\n")
    theirs.settimeout(10.0)
    return theirs


def ended(task: Task) -> bytes:
    """Stands for the response of a task that has ended."""
    return json.dumps({"status": task.status}).encode()


def refused(fault: Exception) -> bytes:
    """Stands for the error that answers a fault."""
    return json.dumps({"fault": type(fault).__name__}).encode()


def messages_of(connection: socket.socket) -> list[object]:
    """Everything that comes until the end."""
    found = b""
    while piece := connection.recv(65_536):
        found += piece
    return list(events(iter(found.decode().split("\n"))))


def test_a_wait_ends_when_what_proves_its_caller_expires(store: TaskStore, streams: Streams) -> None:
    """C105"""
    task_id = Work(store).new()
    with opened(streams, task_id, Caller(ANONYMOUS, None, time.time() + 0.3)) as client:
        assert messages_of(client) == [{"fault": "TooManyStreams"}]


def test_a_slow_reader_is_told_the_newest_state_only(store: TaskStore, streams: Streams) -> None:
    """SUB-3, OLD-1: what waits for it does not grow."""
    work = Work(store)
    task_id = work.new()
    work.run(task_id)
    with opened(streams, task_id) as client:
        for number in range(50):
            work.report(task_id, f"{number} " + "x" * 200_000)
        work.finish(task_id)
        told = messages_of(client)
    assert told[-1] == {"status": "completed"}
    assert len(told) < 50


def test_a_comment_breaks_the_silence(store: TaskStore, streams: Streams, monkeypatch: pytest.MonkeyPatch) -> None:
    """HTTP-8"""
    monkeypatch.setattr("web.stream.COMMENT_S", 0.1)
    with opened(streams, Work(store).new()) as client:
        found = b""
        while b"\n\n:\n\n:\n\n" not in found:
            found += client.recv(65_536)
