"""Whatever stands in the broker's queue, the worker goes on, and its log says in one line what was thrown away."""

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from redis import Redis

from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.waiting import wait_until

QUEUE = "coatcheck:broker:coatcheck"
UNACKNOWLEDGED = "coatcheck:broker:unacked"

Json = dict[str, Any]


@pytest.fixture(scope="module", params=["prefork", "threads"])
def platform(request: pytest.FixtureRequest) -> Iterator[Platform]:
    """A platform with one worker, whose pool takes messages in its own way."""
    with Platform() as platform:
        yield platform.start(pool=request.param)


@pytest.fixture
def client(platform: Platform) -> Iterator[Client]:
    """A client of the platform."""
    with platform.client() as client:
        yield client


def message(**headers: Any) -> Json:
    """A message as Celery sends it, with the given headers."""
    body = json.dumps([["0" * 33], {}, {"callbacks": None, "errbacks": None, "chain": None, "chord": None}])
    return {
        "body": base64.b64encode(body.encode()).decode(),
        "content-encoding": "utf-8",
        "content-type": "application/json",
        "headers": {"lang": "py", "task": "coatcheck.quick", "id": "odd-one", "timelimit": [None, None], **headers},
        "properties": {
            "correlation_id": "odd-one",
            "reply_to": "x",
            "delivery_mode": 2,
            "delivery_info": {"exchange": "", "routing_key": "coatcheck"},
            "priority": 0,
            "body_encoding": "base64",
            "delivery_tag": "odd-tag",
        },
    }


def with_body(body: str) -> Json:
    """A message with this text for a body."""
    return message() | {"body": base64.b64encode(body.encode()).decode()}


def without(*path: str) -> Json:
    """A message that lacks something."""
    whole = message()
    *outer, last = path
    inner = whole
    for name in outer:
        inner = inner[name]
    del inner[last]
    return whole


def with_property(name: str, value: object) -> Json:
    """A message with another property."""
    whole = message()
    whole["properties"][name] = value
    return whole


ODD: dict[str, Callable[[], Any]] = {
    "a body that is null": lambda: with_body("null"),
    "a body that is a word": lambda: with_body('"word"'),
    "a body that is short": lambda: with_body("[[], {}]"),
    "arguments that are an object": lambda: with_body("[{}, {}, {}]"),
    "options that are null": lambda: with_body("[[], {}, null]"),
    "a body that is no JSON": lambda: with_body("{"),
    "a body that is no base64": lambda: message() | {"body": "x"},
    "a body that is a number": lambda: message() | {"body": 5},
    "an unknown content type": lambda: message() | {"content-type": "application/x-python-serialize"},
    "an unknown compression": lambda: message(compression="zip-nothing"),
    "time limits that are words": lambda: message(timelimit=["x", "y"]),
    "time limits that are a word": lambda: message(timelimit="xy"),
    "one time limit": lambda: message(timelimit=[1]),
    "a negative time limit": lambda: message(timelimit=[-1, None]),
    "an id that is a list": lambda: message(id=["a"]),
    "an id that is null": lambda: message(id=None),
    "a name that is an object": lambda: message(task={}),
    "no name": lambda: without("headers", "task"),
    "no id": lambda: without("headers", "id"),
    "an eta that is no time": lambda: message(eta="soon"),
    "an eta that is a number": lambda: message(eta=5),
    "an expiry that is no time": lambda: message(expires="soon"),
    "retries that are a word": lambda: message(retries="x"),
    "stamps that are a word": lambda: message(stamped_headers="x", stamps="y"),
    "a shadow that is an object": lambda: message(shadow={"a": 1}),
    "headers that are a list": lambda: message() | {"headers": ["x"]},
    "no headers": lambda: without("headers"),
    "no properties": lambda: without("properties"),
    "properties that are a word": lambda: message() | {"properties": "x"},
    "no delivery tag": lambda: without("properties", "delivery_tag"),
    "a delivery tag that is an object": lambda: with_property("delivery_tag", {}),
    "no way of delivery": lambda: without("properties", "delivery_info"),
    "a way of delivery that is a word": lambda: with_property("delivery_info", "x"),
    "an unknown body encoding": lambda: with_property("body_encoding", "base65"),
    "a word": lambda: "word",
    "null": lambda: None,
    "a list": list,
    "an unknown kind of value": lambda: {"__type__": "odd", "__value__": 1},
}
BYTES = {"no JSON": b"{", "no UTF-8": b"\xff\xfe", "nothing": b"", "nested deeply": b"[" * 100_000}


def left(broker: Redis) -> tuple[int, int]:
    """How many messages wait, and how many a worker holds."""
    return int(broker.llen(QUEUE)), int(broker.hlen(UNACKNOWLEDGED))


@pytest.mark.parametrize("sent", [*ODD.values(), *BYTES.values()], ids=[*ODD, *BYTES])
def test_a_message_that_is_none_is_thrown_away_and_the_worker_goes_on(
    client: Client, platform: Platform, sent: Callable[[], Any] | bytes
) -> None:
    """K4.5"""
    worker = platform.workers[0]
    pid, printed = worker.pid, len(worker.log)
    with platform.valkey.client() as broker:
        broker.lpush(QUEUE, sent if isinstance(sent, bytes) else json.dumps(sent()))
        assert client.wait_for(client.start("quick"))["status"] == "completed"
        wait_until(lambda: left(broker) == (0, 0), 5.0, "an empty queue, and nothing unacknowledged")
    assert (worker.pid, worker.is_running) == (pid, True)
    log = worker.log[printed:]
    assert log.count("is thrown away") == 1, log
    assert "Traceback" not in log, log


@pytest.mark.parametrize("sent", [b"{", b"null", b'{"body": "x", "properties": {}}', b"\xff"])
def test_a_broadcast_that_is_none_is_thrown_away_too(client: Client, platform: Platform, sent: bytes) -> None:
    """K4.5: remote control comes by a channel of its own."""
    worker = platform.workers[0]
    with platform.valkey.client() as broker:
        for channel in broker.pubsub_channels("*pidbox*"):
            broker.publish(channel, sent)
        assert client.wait_for(client.start("quick"))["status"] == "completed"
    assert worker.is_running
