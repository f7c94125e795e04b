"""All kinds of slow, broken and hostile clients at once: nobody else is shut out, and the processes end in time."""

import resource
import signal
import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from itertools import cycle
from pathlib import Path

import psutil
import pytest

from coatcheck.tasks_store import NewTask, Owner, Patience, Status, StoreSettings, TaskStore
from tests.auth.conftest import UNLIMITED, Tokens
from tests.streams.conftest import RUN, Work
from tests.streams.listener import Listener, listen_request
from tests.support.platform import Platform
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until
from tests.web import raw_sockets
from tests.web.door import Door, encode, headers_of, request

HALF_OPEN = 5_000
SLOW_READERS = 500
PIPELINES = 200
SLOW_SENDERS = 50
STREAMS = 50

FILES = 8_192

LARGE = 300_000
"""Bytes of the answer that is read slowly; many times what the kernel keeps for a reader with so small a buffer."""

BOUND = 64 * 1024 * 1024
"""Bytes that a process may grow by."""

TIMES_IDLE = 10
FLOOR_S = 2.0
"""How much longer than on an idle server others wait at most; what is faster than the floor shuts nobody out, and a
machine that does other work besides needs it."""

LOOKS = 40

END_S = 30.0
"""Platforms kill after so long."""


@pytest.fixture
def enough_files() -> Iterator[None]:
    """This process may have as many connections as the test opens."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


class Caller:
    """Somebody with a token, and the bytes of what they ask."""

    def __init__(self, token: str) -> None:
        self.headers = {"Authorization": f"Bearer {token}"}

    def asks(self, message: dict[str, object], **more: str) -> tuple[bytes, bytes]:
        """Head and body of a request."""
        body = encode(message)
        framing = more or {"Content-Length": str(len(body))}
        return raw_sockets.head_of({**headers_of(message), **self.headers, **framing}), body


class Crowd:
    """Clients that each do one thing wrong, for as long as the block lasts."""

    def __init__(self, port: int, caller: Caller, large: str, task_id: str) -> None:
        self._port = port
        self._poll = b"".join(caller.asks(request("tasks/get", {"taskId": large})))
        self._wait = caller.asks(request("tools/call", {"name": "quick", "arguments": {}}, capabilities={}))
        self._listen = b"".join(caller.asks(listen_request([task_id])))
        self._chunked = caller.asks(request("tools/list"), **{"Transfer-Encoding": "chunked"})
        self._is_over = threading.Event()
        self.done = 0
        """How many have hung up, or sent what is refused, so far."""

    def __enter__(self) -> "Crowd":
        self._stack = stack = ExitStack()
        half = b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "
        self._opened(HALF_OPEN, half)
        self._readers = self._opened(SLOW_READERS, self._poll)
        self._pipelines = self._opened(PIPELINES, b"")
        head, body = self._wait
        self._senders = self._opened(SLOW_SENDERS, head + body[:1])
        for work in (self._drip, self._flood, self._hang_up):
            thread = threading.Thread(target=self._until_over, args=(work,))
            stack.callback(thread.join)
            thread.start()
        stack.callback(self._is_over.set)
        return self

    def __exit__(self, *_fault: object) -> None:
        self._stack.close()

    def _opened(self, count: int, sent: bytes) -> list[socket.socket]:
        found = []
        for _ in range(count):
            connection = self._stack.enter_context(socket.socket())
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.settimeout(raw_sockets.LIMIT_S)
            connection.connect(("127.0.0.1", self._port))
            connection.sendall(sent)
            connection.setblocking(False)
            found.append(connection)
        return found

    def _until_over(self, work: Callable[[], Iterator[float]]) -> None:
        for pause in work():
            if self._is_over.wait(pause):
                return

    def _drip(self) -> Iterator[float]:
        """Send ten bytes of a body a second, and read one of an answer."""
        for number in cycle(range(10)):
            for sender in self._senders:
                with suppress(OSError):
                    sender.send(b" ")
            for reader in self._readers[number::10]:
                with suppress(OSError):
                    reader.recv(1)
            yield 0.1

    def _flood(self) -> Iterator[float]:
        """Send request upon request, and read nothing."""
        while True:
            for pipeline in self._pipelines:
                with suppress(OSError):
                    pipeline.send(b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 50)
            yield 0.1

    def _hang_up(self) -> Iterator[float]:
        """Come and go in each phase of a request, with a goodbye and without."""
        head, body = self._wait
        chunked, listed = self._chunked
        phases = {
            "head": (head[:40], b""),
            "body": (head + body[:40], b""),
            "waiting call": (head + body, b""),
            "answer": (self._poll, b"HTTP/1.1 200"),
            "stream": (self._listen, b"HTTP/1.1 200"),
            "HTTP/1.0": (self._poll.replace(b"HTTP/1.1", b"HTTP/1.0", 1), b"HTTP/1.1 200"),
            "trailer": (chunked + b"%x\r\n%b\r\n0\r\n" % (len(listed), listed) + b"X: y\r\n" * 350_000, b""),
        }
        for ends in cycle((socket.socket.close, raw_sockets.reset)):
            for sent, wanted in phases.values():
                with suppress(OSError, AssertionError), raw_sockets.connected(self._port) as connection:
                    with suppress(BrokenPipeError, ConnectionResetError):
                        connection.sendall(sent)
                    if wanted:
                        raw_sockets.until(connection, wanted)
                    yield 0.02
                    ends(connection)
                    self.done += 1
                yield 0.02  # also while nobody is let in any more


def looks(platform: Platform, caller: Caller, task_id: str) -> list[float]:
    """How long others wait for /healthz and a poll, each on a new connection, in seconds."""
    door = Door(platform.port)
    took = []
    for _ in range(LOOKS):
        began = time.monotonic()
        assert door.send(b"", {}, verb="GET", path="/healthz").status == 200
        assert door.post(request("tasks/get", {"taskId": task_id}), headers=caller.headers).status == 200
        took.append(time.monotonic() - began)
    return took


def large_task(store: TaskStore, owner: Owner) -> str:
    """The id of a task with a large result."""
    task_id = store.create(NewTask(owner=owner, tool="quick", arguments=b"{}"))[0].task_id
    store.claim(task_id, RUN)
    text = b"x" * LARGE
    result = b'{"resultType":"complete","content":[{"type":"text","text":"' + text + b'"}],"isError":false}'
    store.finish(task_id, RUN, Status.COMPLETED, message="Done", result=result)
    return task_id


@pytest.mark.usefixtures("enough_files")
def test_all_that_clients_do_wrong_at_once_shuts_nobody_out(tmp_path: Path) -> None:
    """K1, HTTP-5: with the settings that are shipped, but for the limits of rates."""
    tokens = Tokens(tmp_path / "tokens.toml")
    crowd, other = Caller(tokens.add("crowd")), Caller(tokens.add("other"))
    env = {**UNLIMITED, "COATCHECK_AUTH": "tokens", "COATCHECK_TOKENS_FILE": str(tokens.file), "WEB_CONCURRENCY": "2"}
    with ExitStack() as stack:
        platform = stack.enter_context(Platform(valkey=Valkey(), env=env)).start(workers=0)
        store = stack.enter_context(closing(TaskStore(StoreSettings(redis_url=platform.valkey.url), Patience.DOOR)))
        work = Work(store)
        task_id = work.new(Owner("acme", "other"))
        idle = looks(platform, other, task_id)
        processes = psutil.Process(platform.webs[0].pid).children()
        at_rest = [process.memory_info().rss for process in processes]
        streams = [
            stack.enter_context(Listener(platform.port, listen_request([task_id]), headers=other.headers).begun())
            for _ in range(STREAMS)
        ]
        for stream in streams:
            stream.acknowledged()
            stream.state()
        theirs = Owner("acme", "crowd")
        with Crowd(platform.port, crowd, large_task(store, theirs), work.new(theirs)) as strangers:
            busy = looks(platform, other, task_id)
            assert statistics.median(busy) < max(FLOOR_S, TIMES_IDLE * statistics.median(idle))
            wait_until(lambda: strangers.done >= 14, 20.0, "a client that hung up in each phase")
            grown = [process.memory_info().rss - rest for process, rest in zip(processes, at_rest, strict=True)]
            assert max(grown) < BOUND
            platform.webs[0].signal(signal.SIGTERM)
            assert platform.webs[0].wait(END_S) == 0
            for stream in streams:
                stream.ended()
