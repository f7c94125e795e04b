"""Clients that do not read hold memory within a bound, and nobody else up (K1)."""

import select
import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import httpx
import pytest

from coatcheck.tasks_store import ANONYMOUS, NewTask, Patience, Status, StoreSettings, TaskStore
from tests.streams.conftest import RUN, Work, server_process
from tests.streams.listener import Listener, listen_request
from tests.streams.test_how_streams_last import rewrite
from tests.support.platform import Platform
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until
from tests.web import raw_sockets
from tests.web.door import Door, encode, headers_of, request

LARGE = 6_000_000

BOUND = 64 * 1024 * 1024
"""Bytes that a process may grow by for slow clients."""

ANSWER_S = 4

CALLS = 8

QUEUE = "coatcheck:broker:coatcheck"

PAD: list[dict[str, int]] = [{}] * 200_000
"""What nobody knows, in 800 KB of a body that take 15 MB when they are read."""


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    """A front door with one process that gives up slow readers soon."""
    with Platform(valkey=Valkey(), env={"COATCHECK_ANSWER_SECONDS": str(ANSWER_S)}) as platform:
        yield platform.start(workers=0)


@pytest.fixture
def store(platform: Platform) -> Iterator[TaskStore]:
    """The store behind the front door."""
    with closing(TaskStore(StoreSettings(redis_url=platform.valkey.url), Patience.DOOR)) as store:
        yield store


@pytest.fixture
def large(store: TaskStore) -> str:
    """The id of a task with a large result."""
    task_id = store.create(NewTask(owner=ANONYMOUS, tool="quick", arguments=b"{}"))[0].task_id
    store.claim(task_id, RUN)
    text = b"x" * LARGE
    result = b'{"resultType":"complete","content":[{"type":"text","text":"' + text + b'"}],"isError":false}'
    store.finish(task_id, RUN, Status.COMPLETED, message="Done", result=result)
    return task_id


def poll_of(task_id: str) -> bytes:
    """A poll, as bytes."""
    message = request("tasks/get", {"taskId": task_id})
    return raw_sockets.whole(headers_of(message), encode(message))


def slow_reader(port: int) -> socket.socket:
    """A connection that takes next to nothing."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(("127.0.0.1", port))
    return connection


class Others:
    """Looks at /healthz and polls, as others would, while the block lasts."""

    def __init__(self, platform: Platform, task_id: str) -> None:
        self._door = Door(platform.port)
        self._url = f"http://127.0.0.1:{platform.port}/healthz"
        self._poll = request("tasks/get", {"taskId": task_id})

    def look(self, times: int = 40) -> list[float]:
        """How long each look took, in seconds."""
        took = []
        for _ in range(times):
            began = time.monotonic()
            assert httpx.get(self._url, timeout=10.0, trust_env=False).status_code == 200
            assert self._door.post(self._poll).status == 200
            took.append(time.monotonic() - began)
        return took


def test_readers_of_large_results_who_do_not_read_are_bounded_in_memory_and_time(
    platform: Platform, store: TaskStore, large: str
) -> None:
    """K1.1: and others are served as if nobody were there."""
    others = Others(platform, Work(store).new())
    idle = others.look()
    process = server_process(platform)
    memory = process.memory_info().rss
    with ExitStack() as crowd:
        readers = [crowd.enter_context(slow_reader(platform.port)) for _ in range(160)]
        for reader in readers:
            reader.sendall(poll_of(large))
        busy = others.look()
        assert process.memory_info().rss - memory < 3 * BOUND  # they would be 960 MB
        log = platform.webs[0]
        wait_until(lambda: _given_up(log.log) >= len(readers), 10 * ANSWER_S, "the end of the slow readers")
    assert statistics.median(busy) < 10 * statistics.median(idle)


def _given_up(log: str) -> int:
    """How many readers were cut off, or told to come back because others were before them."""
    return log.count("did not take an answer in time") + log.count("tasks/get refused: -32603")


def test_a_reader_who_takes_its_time_within_the_limit_gets_its_result(platform: Platform, large: str) -> None:
    """K1.1"""
    with closing(slow_reader(platform.port)) as reader:
        reader.sendall(poll_of(large))
        reader.settimeout(20.0)
        found = 0
        while found < LARGE:
            piece = reader.recv(262_144)
            assert piece
            found += len(piece)


@pytest.mark.parametrize(
    "asked", [b"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"]
)
def test_who_sends_request_upon_request_and_reads_nothing_is_not_read_on(
    platform: Platform, store: TaskStore, asked: bytes
) -> None:
    """K1.2"""
    others = Others(platform, Work(store).new())
    idle = others.look()
    process = server_process(platform)
    memory = process.memory_info().rss
    with ExitStack() as crowd:
        senders = [crowd.enter_context(slow_reader(platform.port)) for _ in range(40)]
        is_over = threading.Event()
        for sender in senders:
            sender.settimeout(0.1)
        flood = threading.Thread(target=_flood, args=(senders, asked * 500, is_over))
        flood.start()
        try:
            busy = others.look()
            assert process.memory_info().rss - memory < BOUND
        finally:
            is_over.set()
            flood.join()
    assert statistics.median(busy) < 20 * statistics.median(idle)


def _flood(senders: list[socket.socket], asked: bytes, is_over: threading.Event) -> None:
    while not is_over.is_set():
        for sender in list(senders):
            try:
                sender.send(asked)
            except TimeoutError:
                continue
            except OSError:
                senders.remove(sender)
        is_over.wait(0.01)


def test_only_the_stream_that_is_not_read_ends(platform: Platform, store: TaskStore) -> None:
    """K1.3: eight others of the same task, and one of another, go on."""
    work = Work(store)
    task_id, other = work.new(), work.new()
    work.run(task_id)
    with ExitStack() as opened:
        slow = opened.enter_context(Listener(platform.port, listen_request([task_id])).begun())
        eager = [opened.enter_context(Listener(platform.port, listen_request([task_id])).begun()) for _ in range(8)]
        innocent = opened.enter_context(Listener(platform.port, listen_request([other])).begun())
        process = server_process(platform)
        for stream in (*eager, innocent):
            stream.acknowledged()
            stream.state()
        here = slow.connection.getsockname()
        number = 0

        def is_cut() -> bool:
            nonlocal number
            number += 1
            rewrite(platform, task_id, f"{number} " + "x" * 2_000_000)
            for stream in eager:
                while not stream.state()["statusMessage"].startswith(f"{number} "):
                    pass
            return here not in [connection.raddr for connection in process.net_connections("tcp4")]

        wait_until(is_cut, 15 * ANSWER_S, "the end of the slow stream")
        work.run(other)
        assert innocent.state()["statusMessage"] == "Running"
        work.finish(task_id)
        for stream in eager:
            stream.until("completed")
            stream.ended()
        assert b'"result"' not in slow.rest()


def test_a_trailer_costs_no_more_for_each_byte_and_has_a_limit(platform: Platform, store: TaskStore) -> None:
    """K1.5"""
    others = Others(platform, Work(store).new())
    message = request("tools/list")
    head = raw_sockets.head_of({**headers_of(message), "Transfer-Encoding": "chunked"})
    body = encode(message)
    chunk = b"%x\r\n" % len(body) + body + b"\r\n0\r\n"
    with raw_sockets.connected(platform.port) as connection:
        connection.sendall(head + chunk + b"X: y\r\n" * 50 + b"\r\n")
        assert raw_sockets.status_of(raw_sockets.until(connection, b"}")) == 200
    with raw_sockets.connected(platform.port) as connection:
        connection.sendall(head + chunk + b"X: y\r\n" * 2_000)
        assert raw_sockets.status_of(raw_sockets.all_of(connection)) == 400
    others.look(3)


def waiting_call() -> bytes:
    """A call of a client that knows no tasks, as bytes; nobody works on it."""
    message = request("tools/call", {"name": "quick", "arguments": {}, "pad": PAD}, capabilities={})
    return raw_sockets.whole(headers_of(message), encode(message))


def older_waiting_call() -> bytes:
    """The same of an older client."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "quick", "pad": PAD}}
    headers = {"MCP-Protocol-Version": "2025-06-18", "Content-Type": "application/json", "Accept": "application/json"}
    return raw_sockets.whole(headers, encode(message))


def test_large_requests_that_come_together_take_turns(platform: Platform) -> None:
    """Their bodies, once read, would take half a gigabyte."""
    message = request("tools/list", {"pad": PAD})
    asked = raw_sockets.whole(headers_of(message), encode(message))
    process = server_process(platform)
    memory = process.memory_info().rss
    with ExitStack() as opened:
        clients = [opened.enter_context(raw_sockets.connected(platform.port)) for _ in range(4 * CALLS)]
        for client in clients:
            client.sendall(asked)
        most = 0

        def is_answered() -> bool:
            nonlocal most
            most = max(most, process.memory_info().rss - memory)
            return all(select.select([client], [], [], 0)[0] for client in clients)

        wait_until(is_answered, 60.0, "an answer to each")
        assert most < 3 * BOUND


def test_a_stream_keeps_nothing_of_what_was_asked(platform: Platform, store: TaskStore) -> None:
    """A body that has been read takes many times its size, and a stream lasts for hours."""
    message = listen_request([Work(store).new()])
    message["params"]["pad"] = PAD
    process = server_process(platform)
    memory = process.memory_info().rss
    with ExitStack() as opened:
        for _ in range(CALLS):
            opened.enter_context(Listener(platform.port, message).begun()).acknowledged()
        assert process.memory_info().rss - memory < BOUND


@pytest.mark.parametrize("asked", [waiting_call, older_waiting_call])
def test_a_call_that_waits_keeps_nothing_of_what_was_asked(platform: Platform, asked: Callable[[], bytes]) -> None:
    process = server_process(platform)
    memory = process.memory_info().rss
    with platform.valkey.client() as raw, ExitStack() as opened:
        for number in range(raw.llen(QUEUE) + 1, raw.llen(QUEUE) + CALLS + 1):
            opened.enter_context(raw_sockets.connected(platform.port)).sendall(asked())
            wait_until(lambda number=number: raw.llen(QUEUE) == number, 20.0, "the job of the call")
        assert process.memory_info().rss - memory < BOUND


def test_waiting_calls_with_large_requests_shut_out_no_small_one(platform: Platform) -> None:
    def status(pad: str) -> int:
        call = {"name": "quick", "arguments": {}, "pad": pad}
        message = request("tools/call", call, capabilities={}, meta={"progressToken": 1})
        return opened.enter_context(Listener(platform.port, message)).head()[0]

    with ExitStack() as opened:
        assert {status("x" * size) for size in (1_000_000,) * 10 + (100_000,) * 10} == {200, 503}
        assert status("") == 200


def test_a_subscription_counts_as_what_it_costs(platform: Platform) -> None:
    """K1.6: see tests/limits; here, that the look-ups are no more than two round trips."""
    task_ids = [f"{number:033x}" for number in range(100)]
    with platform.valkey.client() as raw:
        with Listener(platform.port, listen_request(["0" * 33])).begun() as stream:
            assert stream.acknowledged() == []
            stream.ended()
        before = raw.info("stats")["total_reads_processed"]
        with Listener(platform.port, listen_request(task_ids)).begun() as stream:
            assert stream.acknowledged() == []
            stream.ended()
        assert raw.info("stats")["total_reads_processed"] - before < len(task_ids) / 4
