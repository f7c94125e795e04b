"""What a stream carries: the acknowledgement, the states, the end, and nothing else."""

import pytest
from mcp_types.methods import parse_server_notification, parse_server_result

from coatcheck.tasks_store import Owner
from coatcheck.tasks_store.keys import FEED, TaskKeys
from tests.streams.conftest import Listen, Work, polled
from tests.streams.listener import SUBSCRIPTION_ID, Listener, listen_request
from tests.support.client import Client
from tests.support.platform import Platform
from tests.web.door import SERVER_INFO, VERSION, Door


@pytest.mark.parametrize("request_id", [1, 0, -7, 12345678901234567890123, "", "a", "1"])
def test_everything_on_a_stream_names_the_request_that_opened_it(
    platform: Platform, work: Work, request_id: int | str
) -> None:
    """SUB-1: with its type."""
    task_id = work.finished()
    with Listener(platform.port, listen_request([task_id], id=request_id)).begun() as stream:
        acknowledgement, state, response = stream.message(), stream.message(), stream.message()
    meta = {SUBSCRIPTION_ID: request_id}
    assert acknowledgement == {
        "jsonrpc": "2.0",
        "method": "notifications/subscriptions/acknowledged",
        "params": {"_meta": meta, "notifications": {"taskIds": [task_id]}},
    }
    assert state["method"] == "notifications/tasks"
    assert state["params"]["_meta"] == meta
    assert response == {
        "jsonrpc": "2.0",
        "id": request_id,
        "result": {"resultType": "complete", "_meta": {**meta, **SERVER_INFO}},
    }


def test_the_official_models_read_the_acknowledgement_and_the_end(listen: Listen, work: Work) -> None:
    """SUB-1"""
    stream = listen(work.finished())
    acknowledgement, _, response = stream.message(), stream.message(), stream.message()
    parse_server_notification(acknowledgement["method"], VERSION, acknowledgement["params"])
    parse_server_result("subscriptions/listen", VERSION, response["result"])


def test_every_state_is_told_as_a_poll_tells_it(listen: Listen, work: Work, client: Client) -> None:
    """SUB-1, SUB-2, C94: from the state at the beginning to the end, which ends the stream."""
    task_id = work.new()
    stream = listen(task_id)
    assert stream.acknowledged() == [task_id]
    assert stream.state() == polled(client, task_id)
    for move, status in [
        (work.run, "working"),
        (work.ask, "input_required"),
        (work.answer, "working"),
        (work.run, "working"),
        (work.finish, "completed"),
    ]:
        move(task_id)
        state = stream.state()
        assert state == polled(client, task_id)
        assert state["status"] == status
    stream.ended()


def test_tasks_that_are_not_the_callers_are_left_out_without_a_word(listen: Listen, work: Work) -> None:
    """SUB-1, TASK-10: foreign, unknown and malformed ids are all alike; one that is named twice is one."""
    task_id, foreign = work.new(), work.new(Owner("acme", "bob"))
    stream = listen(foreign, task_id, "0" * 33, "nonsense", task_id)
    assert stream.acknowledged() == [task_id]
    assert stream.state()["taskId"] == task_id
    work.run(foreign)
    work.run(task_id)
    assert stream.state()["taskId"] == task_id


def test_the_stream_ends_when_every_task_has_ended(listen: Listen, work: Work) -> None:
    """SUB-2"""
    first, second = work.new(), work.finished()
    stream = listen(first, second)
    assert stream.acknowledged() == [first, second]
    assert {stream.state()["taskId"] for _ in range(2)} == {first, second}
    work.run(first)
    assert stream.state()["taskId"] == first
    work.finish(first)
    assert stream.state()["status"] == "completed"
    stream.ended()


@pytest.mark.parametrize(
    ("wanted", "honoured"),
    [
        ({"taskIds": []}, {"taskIds": []}),
        ({"taskIds": ["0" * 33]}, {"taskIds": []}),
        ({}, {}),
        ({"toolsListChanged": True, "resourceSubscriptions": ["file:///a"]}, {}),
    ],
)
def test_a_stream_on_which_nothing_can_come_says_so_and_ends(
    platform: Platform, wanted: dict[str, object], honoured: dict[str, object]
) -> None:
    """SUB-1, SUB-4, LIST-2: what is not offered is left out of the acknowledgement."""
    with Listener(platform.port, listen_request(wanted=wanted)).begun() as stream:
        assert stream.message()["params"]["notifications"] == honoured
        stream.ended()


def test_only_the_tasks_that_were_asked_for_are_told(listen: Listen, work: Work) -> None:
    """SUB-4"""
    task_id, other = work.new(), work.new()
    stream = listen(task_id)
    assert stream.acknowledged() == [task_id]
    stream.state()
    work.run(other)
    work.finish(other)
    work.run(task_id)
    assert stream.state()["taskId"] == task_id


def test_progress_shows_as_the_tasks_message_and_in_no_other_way(listen: Listen, work: Work, client: Client) -> None:
    """SUB-3, C97"""
    task_id = work.new()
    work.run(task_id)
    stream = listen(task_id)
    stream.acknowledged()
    stream.state()
    work.report(task_id, "half way")
    state = stream.state()
    assert state["statusMessage"] == "half way"
    assert state == polled(client, task_id)


def test_reports_that_come_fast_are_not_all_told_and_the_last_one_is(listen: Listen, work: Work) -> None:
    """SUB-3, C97: a chatty job does not flood whoever listens."""
    task_id = work.new()
    work.run(task_id)
    stream = listen(task_id)
    stream.acknowledged()
    stream.state()
    for number in range(200):
        work.report(task_id, f"row {number}")
    told = [stream.state()["statusMessage"]]
    while told[-1] != "row 199":
        told.append(stream.state()["statusMessage"])
    assert len(told) <= 10
    work.finish(task_id)
    assert stream.state()["status"] == "completed"
    stream.ended()


def test_a_task_that_is_gone_is_told_no_more(listen: Listen, work: Work, platform: Platform) -> None:
    """SUB-2: nothing of it is left to tell."""
    task_id = work.new()
    stream = listen(task_id)
    stream.acknowledged()
    stream.state()
    with platform.valkey.client() as raw:
        raw.delete(TaskKeys.of(task_id).task)
        raw.publish(FEED, task_id)
    stream.ended()


def test_a_client_that_does_not_know_tasks_is_told_what_it_lacks(platform: Platform) -> None:
    """TASK-2"""
    reply = Door(platform.port).post(listen_request(["0" * 33], capabilities={}))
    assert reply.refusal == (400, -32021)
    assert reply.json["error"]["data"] == {
        "requiredCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}
    }


@pytest.mark.parametrize(
    "params",
    [{}, {"notifications": None}, {"notifications": []}, {"notifications": {"taskIds": "a"}},
     {"notifications": {"taskIds": [1]}}, {"notifications": {"taskIds": None}},
     {"notifications": {"taskIds": [str(number) for number in range(101)]}}],
)  # fmt: skip
def test_a_wrong_filter_is_refused(platform: Platform, params: dict[str, object]) -> None:
    """SUB-1"""
    message = listen_request([])
    message["params"] = {"_meta": message["params"]["_meta"], **params}
    assert Door(platform.port).post(message).refusal == (400, -32602)


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream;q=0, application/json"])
def test_a_client_that_takes_no_event_stream_is_refused(platform: Platform, work: Work, accept: str) -> None:
    """HTTP-3"""
    reply = Door(platform.port).post(listen_request([work.new()]), headers={"Accept": accept})
    assert reply.refusal == (406, -32600)


@pytest.mark.parametrize("accept", ["text/event-stream", "*/*"])
def test_a_client_that_takes_event_streams_alone_is_served(platform: Platform, work: Work, accept: str) -> None:
    """HTTP-3"""
    task_id = work.finished()
    with Listener(platform.port, listen_request([task_id]), headers={"Accept": accept}).begun() as stream:
        assert stream.acknowledged() == [task_id]
