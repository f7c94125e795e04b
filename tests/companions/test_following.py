"""`task_status` and `task_answer` from outside: a model follows and answers a task, whatever its host knows."""

import json
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema_rs import validator_for

from tests.auth.conftest import Tokens, client, start_door
from tests.companions.calling import Companion, text_of
from tests.support.client import Client, Json
from tests.support.platform import Platform
from tests.support.waiting import wait_until

KnownClient = Callable[..., Client]
YES = {"action": "accept", "content": {"yes": True}}
UNKNOWN = "7" + "f" * 32

FITTING: dict[str, Any] = {
    "person": {"action": "accept", "content": {"name": "Ada", "age": 36, "size": "small"}},
    "page": {"action": "accept"},
    "model": {"role": "assistant", "content": {"type": "text", "text": "something"}, "model": "tester"},
    "folders": {"roots": [{"uri": "file:///here"}]},
}


def parked(client: Client, tool: str = "confirm", **arguments: Any) -> str:
    """The id of a task that asks."""
    task_id = client.start(tool, arguments or ({"what": "it"} if tool == "confirm" else {}))
    client.wait_for(task_id, "input_required")
    return task_id


# Where a task stands.


def test_a_working_task_tells_what_it_does_and_when_to_ask_again(companion: Companion, tmp_path: Path) -> None:
    task_id = companion.client.start("until_there", {"path": str(tmp_path / "file")})
    wait_until(lambda: companion.status(task_id).get("message") == "Half of it", 20.0, "progress")
    told = companion.status(task_id)
    assert (told["task_id"], told["tool"], told["status"]) == (task_id, "until_there", "working")
    assert "Half of it" in told["text"]
    assert "task_status" in told["text"]
    assert "in 3 seconds" in told["text"]
    companion.client.cancel(task_id)
    companion.client.wait_for(task_id)
    assert (companion.status(task_id)["status"], "cancelled" in companion.status(task_id)["text"]) == (
        "cancelled",
        True,
    )


def test_a_result_comes_with_its_content_and_its_structure(companion: Companion) -> None:
    task_id = companion.client.start("greet", {"name": "Ada"})
    companion.client.wait_for(task_id)
    told = companion.status(task_id)
    assert (told["status"], told["result"], told["result_is_error"]) == ("completed", {"said": "hello Ada"}, False)
    assert told["text"].splitlines()[1:] == ['{"said":"hello Ada"}']


def test_what_went_wrong_is_told_and_asking_for_it_was_no_error(companion: Companion) -> None:
    refused, failed = (companion.client.start("refuse", {"how": how}) for how in ("tool", "protocol"))
    for task_id in (refused, failed):
        companion.client.wait_for(task_id)
    told = companion.status(refused)
    assert (told["status"], told["result_is_error"], "result" in told) == ("completed", True, False)
    assert "not today" in told["text"]
    told = companion.status(failed)
    assert (told["status"], told["error"]) == ("failed", {"code": -33000, "message": "never", "data": {"why": "test"}})
    assert "never" in told["text"]


def test_a_wait_ends_with_the_news_and_tells_progress_meanwhile(companion: Companion, tmp_path: Path) -> None:
    """CALL-4: the task goes on once the wait is known to have begun, by the head of its stream."""
    path = tmp_path / "file"
    client = companion.client
    task_id = client.start("until_there", {"path": str(path)})
    arguments = {"task_id": task_id, "wait_seconds": 20}
    with client.streamed(
        "tools/call", {"name": "task_status", "arguments": arguments}, {"progressToken": 7}
    ) as messages:
        path.write_text("there")
        *progress, last = messages
    assert {message["method"] for message in progress} <= {"notifications/progress"}
    told = last["result"]
    assert told["structuredContent"]["status"] == "completed"
    assert text_of(told).splitlines()[-1] == "there"


def test_a_wait_for_a_task_that_is_at_rest_is_none(companion: Companion) -> None:
    """Else this would outlive the client's own limit."""
    task_id = parked(companion.client)
    with Client(companion.client.url, timeout=10.0) as hasty:
        assert Companion(hasty).status(task_id, 3600)["status"] == "input_required"


def test_a_wait_is_no_longer_than_the_server_lets_a_call_wait(hasty_door: str, tmp_path: Path) -> None:
    with Client(hasty_door, timeout=20.0) as client:
        task_id = client.start("until_there", {"path": str(tmp_path / "file")})
        assert Companion(client).status(task_id, 3600)["status"] == "working"
        client.cancel(task_id)
        client.wait_for(task_id)


def test_a_wait_that_is_given_up_changes_nothing(companion: Companion, tmp_path: Path) -> None:
    path = tmp_path / "file"
    task_id = companion.client.start("until_there", {"path": str(path)})
    with Client(companion.client.url, timeout=0.5) as leaver, pytest.raises(httpx.ReadTimeout):
        Companion(leaver).reply("task_status", task_id=task_id, wait_seconds=20)
    path.write_text("there")
    assert companion.client.wait_for(task_id)["status"] == "completed"


# What it asks.


def test_questions_of_every_kind_come_in_words_and_with_schemas_that_fitting_answers_fit(companion: Companion) -> None:
    task_id = parked(companion.client, "ask_all")
    told = companion.status(task_id)
    questions = {one["key"]: one for one in told["questions"]}
    assert {key: one["kind"] for key, one in questions.items()} == {
        "person": "form",
        "page": "url",
        "model": "sampling",
        "folders": "roots",
    }
    for key, answer in FITTING.items():
        validator_for(questions[key]["answer_schema"]).validate(answer)
    assert questions["person"]["message"] == "Who are you?"
    assert questions["page"]["url"] == "https://test.example/sign-in"
    assert questions["model"]["request"]["maxTokens"] == 10
    for words in (
        "waits for 4 answers",
        '"person" asks the person: Who are you?',
        "- name: a text (at least 1 character, at most 40 characters), required (Your name)",
        "- age: a whole number (at least 18), required",
        '- size: one of "small", "large", required',
        "open https://test.example/sign-in : Please sign in",
        "do not answer in their place",
        task_id,
    ):
        assert words in told["text"], told["text"]
    companion.client.cancel(task_id)


def test_answers_may_come_one_by_one_and_the_rest_is_told(companion: Companion) -> None:
    """TASK-8"""
    task_id = parked(companion.client, "ask_all")
    left = list(FITTING)
    for key, answer in FITTING.items():
        told = companion.answer(task_id, **{key: answer})
        left.remove(key)
        assert (told["stored"], told["ignored"]) == ([key], [])
        assert [one["key"] for one in told["questions"]] == left
    assert companion.status(task_id, 20)["text"].splitlines()[-1] == ("Ada accept something [{'uri': 'file:///here'}]")


def test_the_same_answer_twice_changes_nothing_and_the_first_stands(companion: Companion) -> None:
    """TASK-8: also once the task has ended."""
    task_id = parked(companion.client)
    assert companion.answer(task_id, sure=YES)["stored"] == ["sure"]
    second = companion.answer(task_id, sure={"action": "decline"})
    assert (second["stored"], second["ignored"], second["questions"]) == ([], ["sure"], [])
    assert companion.status(task_id, 20)["text"].splitlines()[-1] == "it: accept {'yes': True}"
    third = companion.answer(task_id, sure=YES)
    assert (third["stored"], third["ignored"], third["status"]) == ([], ["sure"], "completed")
    assert "has ended" in third["text"]


@pytest.mark.parametrize(
    ("answers", "named"),
    [
        ({"sure": True}, "answers.sure"),
        ({"sure": {"yes": True}}, "action"),
        ({"sure": {"action": "maybe"}}, "action"),
        ({"sure": {"action": "accept", "content": {}}}, "yes"),
        ({"sure": {"action": "accept", "content": {"yes": "hunter2"}}}, "yes"),
        ({"sure": {"action": "accept", "content": [1]}}, "content"),
    ],
    ids=str,
)
def test_an_answer_that_does_not_fit_is_refused_with_what_would(
    companion: Companion, answers: Json, named: str
) -> None:
    """TASK-8: nothing is stored, the question stays open, and no value is repeated."""
    task_id = parked(companion.client)
    before = companion.client.get(task_id).result
    said = companion.error("task_answer", task_id=task_id, answers=answers)
    assert named in said
    assert "Nothing was stored" in said
    assert "- yes: true or false, required" in said
    assert "hunter2" not in said
    assert companion.client.get(task_id).result == before
    assert companion.answer(task_id, sure=YES)["stored"] == ["sure"]


def test_unknown_keys_are_ignored_and_named(companion: Companion) -> None:
    """TASK-8"""
    task_id = parked(companion.client)
    told = companion.answer(task_id, other=YES, sûr=1)
    assert (told["stored"], sorted(told["ignored"])) == ([], ["other", "sûr"])
    assert [one["key"] for one in told["questions"]] == ["sure"]
    companion.client.cancel(task_id)


def test_what_the_author_refuses_is_asked_again(companion: Companion) -> None:
    task_id = parked(companion.client, "ask_all")
    root = {"action": "accept", "content": {**FITTING["person"]["content"], "name": "root"}}
    assert companion.answer(task_id, **{**FITTING, "person": root})["questions"] == []
    told = companion.status(task_id, 20)
    assert [one["key"] for one in told["questions"]] == ["person#2"]
    assert "root is not a person" in told["text"]
    companion.answer(task_id, **{"person#2": FITTING["person"]})
    assert companion.status(task_id, 20)["status"] == "completed"


@pytest.mark.parametrize("arguments", [{}, {"task_id": 5}, {"task_id": "x", "more": 1}], ids=str)
@pytest.mark.parametrize("name", ["task_status", "task_answer"])
def test_bad_arguments_are_told_in_words(companion: Companion, name: str, arguments: Json) -> None:
    """CALL-1"""
    assert "Invalid arguments" in companion.error(name, **arguments)


@pytest.mark.parametrize("wait", [-1, "long", 3601])
def test_a_wait_is_a_number_of_seconds(companion: Companion, wait: object) -> None:
    """CALL-1"""
    assert "wait_seconds" in companion.error("task_status", task_id="x", wait_seconds=wait)


# Who may.


def test_foreign_unknown_and_malformed_ids_get_the_same_words(known: KnownClient) -> None:
    """TASK-10, TASK-13"""
    ann = known("ann")
    task_id = parked(ann)
    said = {
        stranger.error(name, task_id=each, **more)
        for stranger in (Companion(known("bob")), Companion(known("ann", "other")))
        for each in (task_id, UNKNOWN, "x", "", "\u0660" * 33)
        for name, more in (("task_status", {"wait_seconds": 5}), ("task_answer", {"answers": {"sure": YES}}))
    }
    assert said == {"There is no task with this id."}
    assert ann.get(task_id).result["status"] == "input_required"


def test_what_a_method_or_a_tool_needs_its_companion_needs_too(known: KnownClient) -> None:
    """TASK-13, AUTH-1"""
    task_id = parked(known("dora", scopes=("secrets", "tasks:write")), "secret")
    answers = {"word": {"action": "accept", "content": {"word": "open"}}}
    cases: list[tuple[tuple[str, ...], str, Json, list[str]]] = [
        ((), "task_status", {}, ["secrets"]),
        (("secrets",), "task_answer", {"answers": answers}, ["tasks:write"]),
        (("tasks:write",), "task_answer", {"answers": answers}, ["secrets"]),
    ]
    for scopes, name, more, needed in cases:
        reply = Companion(known("dora", scopes=scopes)).reply(name, task_id=task_id, **more)
        assert (reply.status, reply.error["data"]) == (403, {"scopes": needed})
    able = Companion(known("dora", scopes=("secrets", "tasks:write")))
    assert able.answer(task_id, **answers)["stored"] == ["word"]
    assert able.status(task_id, 20)["text"].splitlines()[-1] == "open is right"


# From a host that knows no tasks at all.


def followed_from(result: Json, companion: Companion) -> str:
    """The id of the task that the words of an `isError` result name."""
    assert result["isError"] is True
    said = text_of(result)
    assert "call task_status with this task_id" in said
    assert "task_answer" in said
    (task_id,) = [task_id for task_id in companion.ids() if task_id in said]
    return task_id


def test_a_plain_client_is_told_how_to_follow_what_takes_long(hasty_door: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    with Client(hasty_door, capabilities={}) as client:
        companion = Companion(client)
        task_id = followed_from(client.call("until_there", {"path": str(path)}).result, companion)
        assert companion.status(task_id)["status"] == "working"
        path.write_text("done after all")
        wait_until(lambda: companion.status(task_id, 20)["status"] == "completed", 20.0, "the end")
        assert companion.status(task_id)["text"].splitlines()[-1] == "done after all"


def test_a_plain_client_that_can_be_asked_nothing_can_approve(plain: Client) -> None:
    """MRTR-3: the client is not asked; its model is told where the question is."""
    companion = Companion(plain)
    task_id = followed_from(plain.call("confirm", {"what": "the plan"}).result, companion)
    told = companion.status(task_id)
    assert "Sure about the plan?" in told["text"]
    companion.answer(task_id, sure=YES)
    assert companion.status(task_id, 20)["text"].splitlines()[-1] == "the plan: accept {'yes': True}"


def test_a_client_that_can_be_asked_is_asked_as_ever(door: str, clients: ExitStack) -> None:
    """MRTR-1"""
    client = clients.enter_context(Client(door, capabilities={"elicitation": {}}))
    result = client.call("confirm", {"what": "x"}).result
    assert (result["resultType"], list(result["inputRequests"])) == ("input_required", ["sure"])
    again = {"requestState": result["requestState"], "inputResponses": {"sure": YES}}
    assert text_of(client.call("confirm", {"what": "x"}, params=again).result) == "x: accept {'yes': True}"


def test_without_companions_a_plain_client_is_refused_as_ever(bare_door: str) -> None:
    """MRTR-3"""
    with Client(bare_door, capabilities={}) as client:
        reply = client.call("confirm", {"what": "x"})
        assert (reply.status, reply.error["code"]) == (400, -32021)


def test_a_task_that_is_handed_over_asks_only_what_its_client_declared(door: str, clients: ExitStack) -> None:
    """MRTR-3, TASK-6: a client that knows tasks sees the questions itself."""
    client = clients.enter_context(Client(door, capabilities={"extensions": {"io.modelcontextprotocol/tasks": {}}}))
    task = client.wait_for(client.start("confirm", {"what": "x"}))
    assert (task["status"], task["error"]["code"]) == ("failed", -32021)
    assert json.dumps(task["error"]["data"]) == '{"requiredCapabilities": {"elicitation": {"form": {}}}}'


# How much.


def test_a_task_is_asked_after_no_more_often_than_it_may_be_polled(
    platform: Platform, tokens: Tokens, clients: ExitStack
) -> None:
    """TASK-12: by this or by that way."""
    token = tokens.add("eager")
    door = start_door(
        platform,
        COATCHECK_AUTH="tokens",
        COATCHECK_TOKENS_FILE=str(tokens.file),
        COATCHECK_COMPANIONS="task_status",
        COATCHECK_POLLS_PER_SECOND="0.001",
    )
    caller = clients.enter_context(client(door, token))
    task_id = caller.start("greet", {"name": "x"})
    companion = Companion(caller)

    def refused() -> bool:
        return companion.reply("task_status", task_id=task_id).status == 429

    assert not refused()
    wait_until(refused, 20.0, "the limit")
    assert caller.get(task_id).status == 429


def test_who_finds_no_seat_is_answered_at_once(platform: Platform, tmp_path: Path, clients: ExitStack) -> None:
    """One call may wait; who waits is known by the head of its stream."""
    path = tmp_path / "file"
    door = start_door(platform, COATCHECK_COMPANIONS="task_status", COATCHECK_WAITING_CALLS="1")
    waiter, other = (clients.enter_context(Client(door, timeout=15.0)) for _ in range(2))
    task_id = waiter.start("until_there", {"path": str(path)})
    call = {"name": "task_status", "arguments": {"task_id": task_id, "wait_seconds": 20}}
    with waiter.streamed("tools/call", call, {"progressToken": 1}) as messages:
        assert Companion(other).status(task_id, 3600)["status"] == "working"
        path.write_text("there")
        *_, last = messages
    assert last["result"]["structuredContent"]["status"] == "completed"
