"""Code that does not yield holds up its own call and nobody else's."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import httpx
import pytest

from tests.support.client import Client
from tests.support.platform import ROOT, Platform
from tests.support.ports import free_port
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until
from tests.web.door import Door, request

SPIN_S = 3.0


@pytest.fixture(scope="module")
def platform() -> Iterator[Platform]:
    """A front door with one process, and no worker."""
    with Platform(tools="tests.loop.tools", valkey=Valkey()) as platform:
        yield platform.start(workers=0)


@pytest.fixture
def client(platform: Platform) -> Iterator[Client]:
    """A client of the front door."""
    with platform.client() as client:
        yield client


def looks_meanwhile(platform: Platform, busy: threading.Thread) -> int:
    """How often /healthz was answered, each time by its deadline, until the call ended."""
    count = 0
    while busy.is_alive():
        assert httpx.get(f"http://127.0.0.1:{platform.port}/healthz", timeout=2.0).status_code == 200
        count += 1
    return count


def test_an_inline_tool_that_computes_stops_nobody_else(platform: Platform, client: Client) -> None:
    said: list[str] = []
    busy = threading.Thread(
        target=lambda: said.append(client.call("spin", {"seconds": SPIN_S}).result["content"][0]["text"])
    )
    busy.start()
    assert looks_meanwhile(platform, busy) > 5
    assert said == ["done"]


def test_an_authors_check_of_an_argument_stops_nobody_else(platform: Platform, client: Client) -> None:
    said: list[str] = []
    busy = threading.Thread(
        target=lambda: said.append(client.call("checked", {"value": 7}).result["content"][0]["text"])
    )
    busy.start()
    assert looks_meanwhile(platform, busy) > 5
    assert said == ["7"]


def test_an_authors_check_of_a_first_answer_stops_nobody_else(platform: Platform, client: Client) -> None:
    """MRTR-1"""
    state = client.call("asks_first").result["requestState"]
    answered = {
        "inputResponses": {"sure": {"action": "accept", "content": {"yes": True}}},
        "requestState": state,
    }
    kinds: list[str] = []
    busy = threading.Thread(
        target=lambda: kinds.append(client.call("asks_first", params=answered).result["resultType"])
    )
    busy.start()
    assert looks_meanwhile(platform, busy) > 3
    assert kinds == ["task"]


def test_inline_calls_share_a_client_and_wait_side_by_side(platform: Platform) -> None:
    """Connections belong to the loop of the thread that made them."""

    def call(number: int) -> str:
        with platform.client() as own:
            text: str = own.call("wait_for_a_word", {"key": f"word-{number}"}).result["content"][0]["text"]
            return text

    with closing(platform.valkey.client()) as raw, ThreadPoolExecutor(8) as callers:
        for _ in range(2):
            calls = [callers.submit(call, number) for number in range(8)]
            for number in reversed(range(8)):  # the last to be called is the first to be answered
                raw.rpush(f"word-{number}", f"hello {number}")
                assert calls[number].result() == f"hello {number}"


def test_a_large_request_is_checked_beside_the_loop(platform: Platform) -> None:
    """HTTP-5: and refused in the same words as a small one."""
    message = request("tools/call", {"name": "spin", "arguments": {"seconds": "x" * 500_000}})
    reply = Door(platform.port).post(message)
    assert reply.status == 200
    assert reply.json["result"]["isError"] is True
    assert "seconds" in reply.json["result"]["content"][0]["text"]


BLOCKED = """
from gevent import monkey
monkey.patch_all()
import logging, time
import gevent
from coatcheck.web.server import loop_monitor
from coatcheck.workers.telemetry.metrics import Measures

counted = {}
measures = Measures(lambda process, number, counts: counted.update(counts))
logging.basicConfig()
loop_monitor.start_loop_monitor(measures)
gevent.sleep(0.1)

def compute_for_long():
    ends_at = time.monotonic() + 3.5
    while time.monotonic() < ends_at:
        pass

compute_for_long()
gevent.sleep(0.1)
measures.close()
print(counted)
"""


def test_a_blocked_loop_is_logged_with_its_stack_and_counted() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", BLOCKED], capture_output=True, text=True, timeout=60, cwd=ROOT, check=True
    )
    assert "the event loop was blocked" in ended.stderr
    assert "compute_for_long" in ended.stderr
    assert "event_loop_blocked" in ended.stdout


def test_gunicorns_own_options_hold(platform: Platform) -> None:
    """A process that has served its number of requests is replaced, and no request fails for it."""
    port = free_port()
    command = ["gunicorn", "--config", "web/gunicorn.conf.py", "--max-requests", "20", "coatcheck.web.wsgi:app"]
    with platform.process("web-replaced", command, {"PORT": str(port)}) as web:
        web.wait_for_line("Booting worker")
        door = Door(port)
        wait_until(lambda: _answers(port), 30.0, "the front door")
        for _ in range(60):
            assert door.post(request("tools/list")).status == 200
        wait_until(lambda: web.log.count("Booting worker") > 1, 30.0, "another process")


def _answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=5.0).status_code == 200
    except httpx.TransportError:
        return False
