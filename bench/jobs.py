"""What callers do with tasks: make them, wait for them, answer them."""

import re
import time
from collections.abc import Callable, Iterator

from redis import Redis

from bench import wire
from bench.load import Caller, Load, ask
from bench.servers import Side
from bench.wire import Json
from tests.support.waiting import wait_until

CALLERS = 16
"""How many make tasks at a time."""

YES = {"action": "accept", "content": {"go": True}}
"""The answer to what the tool `ask` asks."""

_COMPLETED = re.compile(rb'"status": ?"completed"')


def send(side: Side, request: bytes, count: int) -> list[bytes]:
    """The bodies of the answers to this many sendings of one request."""
    bodies: list[bytes] = []
    turns = iter(range(count))

    def caller() -> Caller:
        for _ in turns:
            body = yield request
            bodies.append(body)

    with Load(side.port, [caller() for _ in range(min(count, CALLERS))]) as load:
        load.go_on()
    return bodies


def create(side: Side, request: bytes, count: int = 1) -> list[str]:
    """The ids of this many new tasks, all from the same call."""
    return [wire.result_of(body)["taskId"] for body in send(side, request, count)]


def get(side: Side, task_id: str) -> Json:
    """The task as it stands."""
    return wire.result_of(ask(side.port, wire.get(task_id)))


def wait_for(side: Side, task_id: str, status: str) -> Json:
    """The task, once it has this status."""

    def reached() -> Json | None:
        task = get(side, task_id)
        return task if task["status"] == status else None

    task = wait_until(reached, 30.0, f"{status} of {task_id}")
    assert task is not None
    return task


def answers_to(task: Json) -> dict[str, Json]:
    """Consent to everything that a parked task asks; the peer chooses its keys by itself."""
    return dict.fromkeys(task["inputRequests"], YES)


def wait_until_drained(redis: Redis, side: Side, timeout: float = 600.0) -> None:
    """No message of the side waits."""

    def is_empty() -> bool:
        kind = redis.type(side.queue)
        return kind == b"none" or (kind == b"stream" and redis.xlen(side.queue) == 0)

    wait_until(is_empty, timeout, f"an empty {side.queue}")


def calls(turns: Iterator[int], pause_s: float, done: Callable[[float], None], tool: str = "noop") -> Caller:
    """Calls the tool and polls until it has completed, again and again; `done` is told how long each took."""
    request = wire.call(tool)
    for _ in turns:
        begun = time.perf_counter()
        poll = wire.get(wire.result_of((yield request))["taskId"])
        if pause_s:
            yield pause_s
        while not _COMPLETED.search((yield poll)):
            if pause_s:
                yield pause_s
        done(time.perf_counter() - begun)
