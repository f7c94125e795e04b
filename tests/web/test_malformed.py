"""Whatever is wrong with a request, it is refused as it must be, and nothing else happens."""

from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace

import pytest
from redis import Redis

from tests.support.platform import Platform
from tests.web.door import Door, Reply, request
from tests.web.malformed import NO_ID, Malformed, every

TABLE = every()

FORMS: Mapping[str, object] = {"elicitation": {}}


@pytest.fixture(scope="module")
def parked(platform: Platform) -> str:
    """The id of a task that waits for a form."""
    with platform.client() as client:
        task_id = client.start("ask_person")
        client.wait_for(task_id, "input_required")
    return task_id


@pytest.fixture(scope="module")
def state(platform: Platform) -> str:
    """The sealed state of a call that waits for a form."""
    with platform.client(capabilities=FORMS) as client:
        sealed: str = client.call("test_input_required_result_request_state").result["requestState"]
    return sealed


def test_the_table_has_at_least_150_requests_and_none_twice() -> None:
    assert len(TABLE) >= 150
    assert [why for why, n in Counter(one.why for one in TABLE).items() if n > 1] == []


@pytest.mark.parametrize("malformed", [pytest.param(one, id=one.why) for one in TABLE])
def test_a_malformed_request_is_refused_and_nothing_else_happens(
    malformed: Malformed, platform: Platform, door: Door, records: Redis, parked: str, state: str
) -> None:
    """HTTP-1, HTTP-2, HTTP-3, HTTP-4, HTTP-6, HDR-1, HDR-2, HDR-3, HDR-4, RPC-1, RPC-2, RPC-4, CALL-1, MRTR-2,
    MRTR-4, TASK-8, TASK-10; C49, C53, C55, C56, C61, C82, C83: status, code and id are right, the connection can be
    used again, no task is made, none is changed, and the log has one line at most."""
    one = _filled(malformed, parked, state)
    log = platform.webs[0]
    before, tasks, task = len(log.log), _tasks(records), _record(records, parked)
    with closing(door.connect()) as connection:
        reply = door.send(one.body, one.headers, verb=one.verb, connection=connection)
        logged = log.log[before:].splitlines()
        assert door.post(request("tools/list"), connection=connection).status == 200

    assert (*reply.refusal, reply.headers["content-type"]) == (one.status, one.code, "application/json")
    assert reply.json == {"jsonrpc": "2.0", **_id(one), "error": _error(reply)}
    assert len(logged) <= 1, logged
    assert "Traceback" not in "".join(logged)
    assert _tasks(records) <= tasks
    assert _record(records, parked) == task


def _filled(one: Malformed, parked: str, state: str) -> Malformed:
    body = one.body.replace(b"PARKED", parked.encode()).replace(b"STATE", state.encode())
    return replace(
        one, body=body, headers={name: value.replace("PARKED", parked) for name, value in one.headers.items()}
    )


def _id(one: Malformed) -> dict[str, object]:
    return {} if one.id is NO_ID else {"id": one.id}


def _error(reply: Reply) -> dict[str, object]:
    """The error as it came, if it says something and shows nothing from inside."""
    error: dict[str, object] = reply.json["error"]
    assert set(error) <= {"code", "message", "data"}
    assert isinstance(error["message"], str)
    assert error["message"]
    assert not [inside for inside in ("Traceback", ".py", "0x", "Error(") if inside in error["message"]]
    return error


def _tasks(records: Redis) -> set[bytes]:
    return set(records.scan_iter("coatcheck:*:task:*", count=1_000))


def _record(records: Redis, task_id: str) -> object:
    [name] = records.scan_iter(f"coatcheck:*:task:{task_id}", count=1_000)
    return records.hgetall(name)
