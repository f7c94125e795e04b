"""The one table from exception to JSON-RPC code to HTTP status."""

import inspect

import pytest

from coatcheck.tasks_store import CallConflict, StoreRefused, StoreUnavailable, TaskNotFound
from coatcheck.web import errors
from coatcheck.web.errors import ERROR_TABLE, CallFailed, InvalidParams, JsonRpcError, WebError, json_rpc_error_of
from coatcheck.workers.toolkit.errors import BrokerUnavailable

STATUS_OF_CODE = {-32700: 400, -32600: 400, -32602: 400, -32020: 400, -32021: 400, -32022: 400, -32601: 404}


def test_every_error_of_the_folder_has_its_row() -> None:
    """HTTP-6."""
    named = {one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, WebError)}
    assert named - set(ERROR_TABLE) == {WebError, CallFailed, errors.InvalidWebSettings}


@pytest.mark.parametrize(("code", "status"), STATUS_OF_CODE.items())
def test_a_code_has_one_status_wherever_it_came_from(code: int, status: int) -> None:
    """HTTP-6."""
    refusal = json_rpc_error_of(CallFailed(code, "An author's", {"a": 1}))
    assert refusal == JsonRpcError(code, "An author's", status, {"a": 1})


@pytest.mark.parametrize("code", [-32603, -32050, 1, 0])
def test_an_authors_own_code_is_answered_with_200(code: int) -> None:
    """HTTP-6: the official TypeScript client reads an error body at 200 and 400 only."""
    refusal = json_rpc_error_of(CallFailed(code, "An author's"))
    assert refusal is not None
    assert refusal.status == 200


@pytest.mark.parametrize(
    "fault", [StoreUnavailable("redis://:pw@h"), StoreRefused("OOM"), BrokerUnavailable("amqp://x")]
)
def test_an_outage_says_when_to_come_back_and_nothing_of_what_is_inside(fault: Exception) -> None:
    """HTTP-6, C20."""
    refusal = json_rpc_error_of(fault)
    assert refusal is not None
    assert (refusal.code, refusal.status) == (-32603, 503)
    assert int(refusal.headers["Retry-After"]) > 0
    assert str(fault) not in refusal.message


def test_an_unknown_task_is_told_in_the_same_words_for_every_id() -> None:
    """TASK-10."""
    assert (
        json_rpc_error_of(TaskNotFound("a"))
        == json_rpc_error_of(TaskNotFound("b"))
        == JsonRpcError(-32602, "No task with this id", 400)
    )


def test_a_conflict_does_not_name_the_other_task() -> None:
    """C67."""
    refusal = json_rpc_error_of(CallConflict("3abc"))
    assert refusal is not None
    assert "3abc" not in refusal.message


def test_what_nobody_thought_of_is_not_for_the_client() -> None:
    """CALL-3."""
    assert json_rpc_error_of(RuntimeError("db password")) is None
    assert json_rpc_error_of(InvalidParams("no")) == JsonRpcError(-32602, "no", 400)
