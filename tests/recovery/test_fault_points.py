"""A process ends, or stands still, at each named place of our own code, and the promise holds."""

from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.e2e.ledger import Ledger
from tests.recovery.tools import GO_ON
from tests.support.client import Client, Reply
from tests.support.platform import Platform
from tests.support.ports import free_port
from tests.support.waiting import wait_until

SECOND_RUN = ("ending", "finished")
"""Points that `fragile` reaches in its second run only."""

IDEMPOTENCY_KEY = "io.coatcheck/idempotencyKey"


@pytest.fixture(scope="module")
def platform(bare_platform: Platform) -> Platform:
    """A platform whose worker has one process, so that an armed point acts on the task that armed it."""
    bare_platform.start_worker(concurrency=1)
    return bare_platform


def armed(point: str, action: str) -> dict[str, object]:
    """The arguments of `fragile` that arm one point."""
    return {"fault": f"{point}={action}", "armed_run": 2 if point in SECOND_RUN else 1}


@pytest.mark.parametrize("point", ["claimed", "in-step", "step-kept", "parked", "accepted", "ending", "finished"])
def test_a_run_that_is_killed_at_a_fault_point_is_followed_by_one_that_goes_on(
    client: Client, ledger: Ledger, point: str
) -> None:
    """C4, C29"""
    task_id = client.start("fragile", armed(point, "kill"))
    client.wait_for(task_id, "input_required")
    client.update(task_id, {"go": GO_ON})
    task = client.wait_for(task_id)
    assert task["result"]["structuredContent"] == ["first", "second"]
    interrupted = 1 if point == "in-step" else 0  # the one piece of work that may be done again
    assert ledger.count(task_id, "first begun") == 1 + interrupted
    assert ledger.count(task_id, "second begun") == 1


@pytest.mark.parametrize("point", ["parked", "accepted", "ending", "finished"])
def test_a_run_that_ends_by_an_exception_of_ours_is_followed_by_one_that_goes_on(
    client: Client, ledger: Ledger, point: str
) -> None:
    task_id = client.start("fragile", armed(point, "raise"))
    client.wait_for(task_id, "input_required")
    client.update(task_id, {"go": GO_ON})
    task = client.wait_for(task_id)
    assert task["result"]["structuredContent"] == ["first", "second"]
    assert ledger.count(task_id, "first begun") == ledger.count(task_id, "second begun") == 1


@pytest.mark.parametrize("point", ["in-step", "step-kept", "parked", "ending", "finished"])
def test_a_run_that_stands_still_for_longer_than_its_lease_is_not_run_beside(
    client: Client, ledger: Ledger, point: str
) -> None:
    """C1"""
    task_id = client.start("fragile", armed(point, "wait:2"))
    client.wait_for(task_id, "input_required")
    client.update(task_id, {"go": GO_ON})
    task = client.wait_for(task_id)
    assert task["result"]["structuredContent"] == ["first", "second"]
    assert ledger.entries(task_id) == [("first begun", 1), ("first ended", 1), ("second begun", 2), ("second ended", 2)]


@pytest.fixture(params=["kill", "raise", "wait:0.2"])
def faulty_door(platform: Platform, request: pytest.FixtureRequest) -> Iterator[Client]:
    """A second front door, whose processes fail after each write and before the message that follows it."""
    port = free_port()
    web = platform.start_web(port=port, env={"COATCHECK_FAULTS": f"created={request.param},answered={request.param}"})
    with Client(f"http://127.0.0.1:{port}/mcp") as client:
        wait_until(lambda: tried(client.discover), 20.0, "the second front door")
        yield client
    web.kill()
    platform.webs.remove(web)


def tried(send: Callable[[], Reply]) -> Reply | None:
    """The reply, or None when the connection broke."""
    try:
        return send()
    except httpx.TransportError:
        return None


def test_a_front_door_that_fails_between_record_and_message_loses_nothing_and_doubles_nothing(
    client: Client, faulty_door: Client, ledger: Ledger
) -> None:
    """C21, C67, C77: the task runs although no message was sent, and the caller who comes back gets the same task."""
    meta = {IDEMPOTENCY_KEY: faulty_door.url}
    created = tried(lambda: faulty_door.call("fragile", {"fault": ""}, meta=meta))
    task_id = client.start("fragile", {"fault": ""}, meta=meta)
    assert created is None or created.status != 200 or created.body.get("error") or created.result["taskId"] == task_id
    client.wait_for(task_id, "input_required")
    tried(lambda: faulty_door.update(task_id, {"go": GO_ON}))
    task = client.wait_for(task_id)
    assert task["result"]["structuredContent"] == ["first", "second"]
    effects = [what for what, _ in ledger.entries(task_id)]
    assert effects == ["first begun", "first ended", "second begun", "second ended"]
