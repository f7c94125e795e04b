"""What the state of a Celery task means for the client."""

import orjson
import pytest
from celery.exceptions import NotRegistered, TimeLimitExceeded

from coatcheck.tasks_store import Status
from coatcheck.workers.external.states import ending_of_state, told_of
from coatcheck.workers.messages.other_application import UNREADABLE, State, message_id_of
from coatcheck.workers.settings import WorkerSettings
from coatcheck.workers.toolkit.expose import exposed_tool
from coatcheck.workers.toolkit.outcome import Ending

TOOL = exposed_tool("billing.ping", output={"type": "object", "required": ["ok"]})


def ending(state: State) -> Ending:
    """The ending that a state stands for."""
    found = ending_of_state(TOOL, state, WorkerSettings(), "a test")
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["PENDING", "RECEIVED", "STARTED", "RETRY", "PROGRESS", "A STATE OF THEIRS"])
def test_work_goes_on_in_every_state_that_is_no_end(name: str) -> None:
    assert ending_of_state(TOOL, State(name), WorkerSettings(), "a test") is None


@pytest.mark.parametrize(
    ("state", "status", "is_error"),
    [
        (State("SUCCESS", {"ok": True}), Status.COMPLETED, False),
        (State("SUCCESS", {"not": "as promised"}), Status.COMPLETED, True),
        (State("FAILURE", ValueError("no")), Status.COMPLETED, True),
        (State("FAILURE", NotRegistered("billing.ping")), Status.FAILED, None),
        (State("FAILURE", TimeLimitExceeded(3)), Status.FAILED, None),
        (State(UNREADABLE), Status.FAILED, None),
        (State("REVOKED"), Status.CANCELLED, None),
        (State("FAILURE", "in plain words"), Status.COMPLETED, True),
        (State("REVOKED", "in plain words"), Status.CANCELLED, None),
    ],
)
def test_each_end_has_its_status(state: State, status: Status, is_error: bool | None) -> None:
    found = ending(state)
    assert found.status is status
    assert (orjson.loads(found.result)["isError"] if found.result else None) is is_error
    assert (found.error is not None) is (status is Status.FAILED)


@pytest.mark.parametrize(
    ("state", "message", "progress"),
    [
        (State("PENDING"), "", None),
        (State("STARTED", {"pid": 7}), "Running", None),
        (State("RETRY", OSError("away")), "It failed and will be tried again: away", None),
        (State("RETRY", {"message": "away"}), "It failed and will be tried again: away", None),
        (State("RETRY", None), "It failed and will be tried again: no reason was given", None),
        (State("PROGRESS", {"current": float("nan"), "total": 3}), "PROGRESS", None),
        (State("SHELVING"), "SHELVING", None),
        (State("SHELVING", "box 3"), "SHELVING: box 3", None),
        (State("PROGRESS", {"current": 3, "total": 10}), "3 of 10", {"progress": 3, "total": 10}),
        (State("PROGRESS", {"done": 0.5}), "0.5", {"progress": 0.5}),
        (
            State("PROGRESS", {"current": 3, "total": 10, "status": "Row 3"}),
            "Row 3",
            {"progress": 3, "total": 10, "message": "Row 3"},
        ),
        (State("PROGRESS", {"message": "Busy"}), "Busy", None),
        (State("PROGRESS", {"rows": 3}), "PROGRESS", None),
    ],
)
def test_a_client_is_told_how_the_work_gets_on(state: State, message: str, progress: object) -> None:
    told = told_of(state)
    assert told.message == message
    assert (orjson.loads(told.progress) if told.progress else None) == progress


def test_a_very_long_message_is_cut() -> None:
    assert len(told_of(State("PROGRESS", {"message": "x" * 10_000})).message) < 1_000


def test_the_message_id_is_the_same_however_often_it_is_made() -> None:
    assert message_id_of("0" * 33) == message_id_of("0" * 33) != message_id_of("1" * 33)
