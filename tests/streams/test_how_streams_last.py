"""Streams while connections fail, clients leave or dawdle, and processes end."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx
import psutil
import pytest

from coatcheck.tasks_store import Patience, StoreSettings, TaskStore
from coatcheck.tasks_store.keys import FEED, TaskKeys
from tests.streams.conftest import Listen, Work, polled, server_process
from tests.streams.listener import Listener, listen_request
from tests.support.client import Client
from tests.support.platform import ROOT, Platform
from tests.support.ports import free_port
from tests.support.valkey import Valkey
from tests.support.waiting import wait_until
from tests.web.door import Door, headers_of, request

RACES = 60

MANY = 200

Start = Callable[..., Platform]


@pytest.fixture
def start() -> Iterator[Start]:
    """What starts another platform for one test."""
    with ExitStack() as stack:

        def start(**env: str) -> Platform:
            return stack.enter_context(Platform(valkey=Valkey(), env=env)).start(workers=0)

        yield start


@pytest.fixture
def work_on() -> Iterator[Callable[[Platform], Work]]:
    """What moves the tasks of another platform."""
    with ExitStack() as stack:

        def work_on(platform: Platform) -> Work:
            store = TaskStore(StoreSettings(redis_url=platform.valkey.url), Patience.DOOR)
            stack.callback(store.close)
            return Work(store)

        yield work_on


def rewrite(platform: Platform, task_id: str, message: str) -> None:
    """The task has another message, which is told as any change is."""
    with platform.valkey.client() as raw:
        raw.hset(TaskKeys.of(task_id).task, "message", message)
        raw.publish(FEED, task_id)


def files_of(process: psutil.Process) -> int:
    """How many files and connections a process has open."""
    return process.num_fds()


def test_the_head_and_the_first_message_come_at_once(listen: Listen, platform: Platform, work: Work) -> None:
    """HTTP-8, C43, C44: nothing between us and the client has a reason to hold them back."""
    with Listener(platform.port, listen_request([work.new()]), headers={"Accept-Encoding": "gzip"}) as stream:
        status, headers = stream.head()
        assert status == 200
        assert headers["content-type"].startswith("text/event-stream")
        assert headers["cache-control"] == "no-cache"
        assert headers["x-accel-buffering"] == "no"
        assert headers.keys().isdisjoint({"content-encoding", "content-length"})
        assert len(stream.acknowledged()) == 1


def test_a_silent_stream_is_kept_alive_by_comments(listen: Listen, work: Work) -> None:
    """HTTP-8, C37, C44: the wait for one is shorter than anybody's patience with an idle connection."""
    stream = listen(work.new())
    stream.acknowledged()
    stream.state()
    stream.connection.settimeout(15.0)
    stream.comment()


def test_a_client_of_http_1_0_is_served(platform: Platform, work: Work) -> None:
    """C43: some proxies still speak it."""
    task_id = work.finished()
    with Listener(platform.port, listen_request([task_id]), version="HTTP/1.0").begun() as stream:
        assert stream.acknowledged() == [task_id]
        assert stream.state()["status"] == "completed"
        stream.ended()


def test_a_state_reached_while_the_stream_begins_is_never_missed(listen: Listen, work: Work) -> None:
    """SUB-2, C94: the end of a task races its subscription; whoever wins, the end is told, once."""
    both = threading.Barrier(2)

    def finish(task_id: str) -> None:
        both.wait()
        work.finish(task_id)

    with ThreadPoolExecutor(1) as worker:
        for _ in range(RACES):
            task_id = work.new()
            work.run(task_id)
            ending = worker.submit(finish, task_id)
            both.wait()
            stream = listen(task_id)
            stream.acknowledged()
            states = [stream.state()]
            while states[-1]["status"] == "working":
                states.append(stream.state())
            assert [state["status"] for state in states].count("completed") == 1
            stream.ended()
            ending.result()


def test_a_state_reached_while_the_feed_was_lost_is_told_afterwards(
    listen: Listen, work: Work, platform: Platform
) -> None:
    """SUB-2: after a lost connection everything is looked at again, and what has not changed is not repeated."""
    changed, unchanged = work.new(), work.new()
    stream = listen(changed, unchanged)
    stream.acknowledged()
    stream.state()
    stream.state()
    with platform.valkey.client() as raw:
        raw.client_kill_filter(_type="pubsub")
        work.run(changed)
        work.ask(changed)
    assert stream.until("input_required")["taskId"] == changed
    work.run(unchanged)
    state = stream.state()
    assert (state["taskId"], state["statusMessage"]) == (unchanged, "Running")


def test_streams_outlive_a_restart_of_redis(work_on: Callable[[Platform], Work]) -> None:
    """SUB-2: comments go on meanwhile, and the states of after it are told."""
    with Platform(valkey=Valkey(appendonly="yes", appendfsync="always")) as platform:
        platform.start(workers=0)
        work = work_on(platform)
        task_id = work.new()
        with Listener(platform.port, listen_request([task_id])).begun() as stream:
            stream.acknowledged()
            stream.state()
            platform.valkey.kill()
            platform.valkey.start()
            work.run(task_id)
            assert stream.state()["statusMessage"] == "Running"
            work.finish(task_id)
            assert stream.state()["status"] == "completed"
            stream.ended()


def test_no_stream_begins_while_the_store_is_away(start: Start, work_on: Callable[[Platform], Work]) -> None:
    """HTTP-6: an error with a status, not a stream of nothing."""
    platform = start()
    platform.valkey.kill()
    reply = Door(platform.port).post(listen_request(["0" * 33]))
    assert reply.status == 503
    assert reply.headers["retry-after"]


def test_clients_that_vanish_leave_nothing_behind(listen: Listen, platform: Platform, work: Work) -> None:
    """C38: connections, threads and places are free as soon as a client is gone, whatever happens to its task."""
    process = server_process(platform)
    task_id = work.new()
    listen(task_id).acknowledged()
    files, threads = files_of(process), process.num_threads()
    streams = [Listener(platform.port, listen_request([work.new()], id=number)) for number in range(MANY)]
    for stream in streams:
        stream.begun().acknowledged()
    assert files_of(process) >= files + MANY
    assert process.num_threads() == threads
    for number, stream in enumerate(streams):
        stream.reset() if number % 2 else stream.close()
    wait_until(lambda: files_of(process) <= files + 40, 30.0, "the end of the streams")


def test_leaving_a_stream_changes_no_task(listen: Listen, work: Work, client: Client) -> None:
    """C95, C96: nor does the word of it that some clients send after they have left."""
    task_id = work.new()
    stream = listen(task_id, id=77)
    stream.acknowledged()
    before = polled(client, task_id)
    stream.close()
    message = request("notifications/cancelled", {"requestId": 77}, id=1)
    del message["id"]
    assert httpx.post(client.url, json=message, headers=headers_of(message)).status_code == 202
    assert polled(client, task_id) == before


def test_a_client_may_come_back_with_the_same_id_before_it_was_missed(listen: Listen, work: Work) -> None:
    """C44: ids belong to connections."""
    task_id = work.new()
    first, second = listen(task_id, id="again"), listen(task_id, id="again")
    assert first.acknowledged() == second.acknowledged() == [task_id]
    first.state()
    second.state()
    work.run(task_id)
    assert first.state() == second.state()


def test_a_reader_who_does_not_read_costs_no_memory_and_nobody_else(
    listen: Listen, work: Work, platform: Platform
) -> None:
    """SUB-3: of what it missed it is told the newest, if it ever reads on."""
    task_id = work.new()
    work.run(task_id)
    lazy, eager = listen(task_id), listen(task_id)
    for stream in (lazy, eager):
        stream.acknowledged()
        stream.state()
    process = server_process(platform)
    memory = process.memory_info().rss
    for number in range(60):
        rewrite(platform, task_id, f"{number} " + "x" * 1_000_000)
        while not eager.state()["statusMessage"].startswith(f"{number} "):
            pass
    assert process.memory_info().rss - memory < 40_000_000
    rewrite(platform, task_id, "the newest")
    told = [lazy.state()["statusMessage"]]
    while told[-1] != "the newest":
        told.append(lazy.state()["statusMessage"])
    assert len(told) < 30


def test_streams_above_the_limit_are_refused_at_once_and_polls_are_served(
    start: Start, work_on: Callable[[Platform], Work]
) -> None:
    """C39: a place that becomes free is given to the next."""
    platform = start(COATCHECK_STREAMS="5")
    work, door = work_on(platform), Door(platform.port)
    task_id = work.new()
    streams = [Listener(platform.port, listen_request([task_id])).begun() for _ in range(5)]
    refused = door.post(listen_request([task_id], id="sixth"))
    assert refused.refusal == (503, -32603)
    assert refused.json["id"] == "sixth"
    assert refused.headers["retry-after"]
    with platform.client() as client:
        assert client.get(task_id).result["status"] == "working"
    assert httpx.get(f"http://127.0.0.1:{platform.port}/healthz").status_code == 200
    streams[0].close()

    def is_served() -> bool:
        with Listener(platform.port, listen_request([task_id])) as stream:
            return stream.head()[0] == 200

    wait_until(is_served, 10.0, "a free place")
    for stream in streams:
        stream.close()


def test_a_refused_request_keeps_no_place(start: Start, work_on: Callable[[Platform], Work]) -> None:
    """C39"""
    platform = start(COATCHECK_STREAMS="1")
    door, task_id = Door(platform.port), work_on(platform).new()
    for _ in range(3):
        assert door.post(listen_request([task_id], capabilities={})).status == 400
        assert door.post(listen_request([task_id]), headers={"Accept": "application/json"}).status == 406
    with Listener(platform.port, listen_request([task_id])).begun() as stream:
        assert stream.acknowledged() == [task_id]


def test_a_process_that_is_asked_to_end_ends_its_streams_with_their_results(
    start: Start, work_on: Callable[[Platform], Work]
) -> None:
    """SUB-2: and does not wait for them."""
    platform = start()
    work = work_on(platform)
    streams = [Listener(platform.port, listen_request([work.new()])).begun() for _ in range(20)]
    for stream in streams:
        stream.acknowledged()
        stream.state()
    platform.webs[0].signal(signal.SIGTERM)
    for stream in streams:
        assert stream.ended()["resultType"] == "complete"
    assert platform.webs[0].wait(10.0) == 0
    for stream in streams:
        stream.close()


def test_a_process_that_is_killed_ends_its_streams_without_one(
    start: Start, work_on: Callable[[Platform], Work]
) -> None:
    """SUB-2: a client can tell the one from the other."""
    platform = start()
    with Listener(platform.port, listen_request([work_on(platform).new()])).begun() as stream:
        stream.acknowledged()
        stream.state()
        server_process(platform).kill()
        assert b"result" not in stream.rest()


@pytest.mark.parametrize("worker_class", ["sync", "gthread"])
def test_another_class_of_worker_is_refused_at_the_start(platform: Platform, worker_class: str) -> None:
    """C37, C47"""
    command = [sys.executable, "-m", "gunicorn", "--config", "web/gunicorn.conf.py", "--worker-class", worker_class]
    env = {**os.environ, "REDIS_URL": platform.valkey.url, "PORT": str(free_port())}
    ended = subprocess.run(
        [*command, "coatcheck.web.wsgi:app"], check=False, cwd=ROOT, env=env, capture_output=True, text=True
    )
    assert ended.returncode != 0
    assert "--worker-class" in ended.stderr
