"""Input before a task, and without tasks: a call that asks, and is sent again with the answers."""

import base64
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from redis import Redis

from tests.support.client import Client
from tests.support.platform import Platform
from tests.support.waiting import wait_until
from tests.web.door import SERVER_INFO, Door, request, text_result

Json = dict[str, Any]

NAME_FORM = {
    "method": "elicitation/create",
    "params": {
        "mode": "form",
        "message": "What is your name?",
        "requestedSchema": {
            "type": "object",
            "properties": {"name": {"title": "Name", "type": "string"}},
            "required": ["name"],
        },
    },
}
CAPITAL = {
    "method": "sampling/createMessage",
    "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "What is the capital of France?"}}],
        "maxTokens": 100,
    },
}
ROOTS: Json = {"method": "roots/list", "params": {}}

ANN = {"action": "accept", "content": {"name": "Ann"}}
SMALL = {"action": "accept", "content": {"size": "small"}}
PARIS = {"role": "assistant", "content": {"type": "text", "text": "Paris"}, "model": "m"}


def asked(reply: Any, requests: Mapping[str, Any]) -> str:
    """The state of an InputRequiredResult that asks exactly this."""
    result = reply.result
    state: str = result["requestState"]
    assert result == {
        "resultType": "input_required",
        "inputRequests": requests,
        "requestState": state,
        "_meta": SERVER_INFO,
    }
    assert state.isascii()
    return state


def again(client: Client, tool: str, state: str, answers: Mapping[str, Any], **arguments: Any) -> Any:
    """The answer to the same call, sent again with answers."""
    return client.call(tool, arguments, params={"requestState": state, "inputResponses": answers})


@pytest.mark.parametrize(
    ("tool", "key", "request_", "answer", "text"),
    [
        ("test_streaming_elicitation", "user_name", NAME_FORM, ANN, "Hello, Ann!"),
        ("test_input_required_result_elicitation", "user_name", NAME_FORM, ANN, "Hello, Ann!"),
        ("test_input_required_result_sampling", "capital_question", CAPITAL, PARIS, "Paris"),
        (
            "test_input_required_result_list_roots",
            "client_roots",
            ROOTS,
            {"roots": [{"uri": "file:///a"}]},
            "file:///a",
        ),
    ],
)
def test_a_call_asks_and_its_retry_is_answered(
    plain: Client, tool: str, key: str, request_: Json, answer: Json, text: str
) -> None:
    """MRTR-1, C85: the retry has an id of its own."""
    state = asked(plain.call(tool), {key: request_})
    assert again(plain, tool, state, {key: answer}).result == text_result(text)


def test_a_call_may_ask_over_several_rounds(plain: Client) -> None:
    """MRTR-1, MRTR-2: each state is another, so that a client sees the progress."""
    tool = "test_input_required_result_multi_round"
    first = plain.call(tool).result
    second = again(plain, tool, first["requestState"], {"step1": ANN}).result
    assert (list(first["inputRequests"]), list(second["inputRequests"])) == (["step1"], ["step2"])
    assert first["requestState"] != second["requestState"]
    done = again(plain, tool, second["requestState"], {"step2": {"action": "accept", "content": {"color": "blue"}}})
    assert done.result == text_result("Ann likes blue")


def test_a_retry_that_is_sent_twice_changes_nothing(plain: Client) -> None:
    """MRTR-1: whoever lost the answer gets it again."""
    tool = "test_input_required_result_request_state"
    state = plain.call(tool).result["requestState"]
    answers = {"confirm": {"action": "accept", "content": {"ok": True}}}
    first = again(plain, tool, state, answers).result
    assert first == text_result("state-ok: accept")
    assert again(plain, tool, state, answers).result == first
    assert again(plain, tool, state, {}).result == first


def test_answers_may_come_one_after_the_other(plain: Client) -> None:
    """MRTR-4: what is missing is asked again; other keys are ignored."""
    tool = "test_input_required_result_multiple_inputs"
    first = plain.call(tool).result
    assert sorted(first["inputRequests"]) == ["client_roots", "greeting", "user_name"]
    second = again(plain, tool, first["requestState"], {"user_name": ANN, "unknown": 7}).result
    assert sorted(second["inputRequests"]) == ["client_roots", "greeting"]
    none = again(plain, tool, second["requestState"], {"unknown": {"action": "accept"}}).result
    assert none["inputRequests"] == second["inputRequests"]
    rest = {"greeting": PARIS, "client_roots": {"roots": []}}
    assert again(plain, tool, none["requestState"], rest).result == text_result("Paris Ann: no roots")


@pytest.mark.parametrize(
    ("answers", "named"),
    [
        ({"user_name": {"action": "accept", "content": {"name": 7}}}, "user_name"),
        ({"user_name": {"action": "accept"}}, "user_name"),
        ({"user_name": ANN, "greeting": {"role": "assistant"}}, "greeting"),
        ({"user_name": ANN, "client_roots": {"roots": [{"uri": "https://a"}]}}, "client_roots"),
    ],
)
def test_an_answer_of_the_wrong_shape_is_refused_and_none_is_taken(plain: Client, answers: Json, named: str) -> None:
    """MRTR-4, C83: the message names the key, and no value."""
    tool = "test_input_required_result_multiple_inputs"
    first = plain.call(tool).result
    refused = again(plain, tool, first["requestState"], answers)
    assert (refused.status, refused.error["code"]) == (400, -32602)
    assert named in refused.error["message"]
    assert again(plain, tool, first["requestState"], {}).result["inputRequests"] == first["inputRequests"]


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_person_may_say_no(plain: Client, action: str) -> None:
    """MRTR-1, C82: whatever stands beside it."""
    tool = "test_input_required_result_tampered_state"
    for extra in ({}, {"content": None}, {"content": {"junk": 1}}):
        state = plain.call(tool).result["requestState"]
        assert again(plain, tool, state, {"confirm": {"action": action, **extra}}).result == text_result(action)


# The state


def test_a_state_opens_its_own_call_only(platform: Platform, plain: Client) -> None:
    """MRTR-2: not another tool, and not other arguments; the order in which these are written is no difference."""
    answers = {"confirm": {"action": "decline"}}
    state = plain.call("confirm_delete", {"filename": "a"}).result["requestState"]
    for tool, arguments in (("confirm_delete", {"filename": "b"}), ("test_input_required_result_tampered_state", {})):
        refused = again(plain, tool, state, answers, **arguments)
        assert (refused.status, refused.error["code"]) == (400, -32602)
    assert again(plain, "confirm_delete", state, answers, filename="a").result["content"][0]["text"] == "a was kept"


def test_every_changed_character_of_a_state_is_noticed(plain: Client) -> None:
    """MRTR-2."""
    tool = "test_input_required_result_tampered_state"
    state = plain.call(tool).result["requestState"]
    for n in range(0, len(state), 7):
        changed = state[:n] + ("A" if state[n] != "A" else "B") + state[n + 1 :]
        refused = again(plain, tool, changed, {"confirm": {"action": "decline"}})
        assert refused.status == 400
    assert again(plain, tool, state, {"confirm": {"action": "decline"}}).status == 200


def test_nothing_secret_stands_in_a_state(plain: Client) -> None:
    """MRTR-2: it has neither the arguments nor the owner in it."""
    state = plain.call("confirm_delete", {"filename": "salaries.csv"}).result["requestState"]
    read = base64.urlsafe_b64decode(state)
    assert b"salaries" not in read
    assert b"anonymous" not in read


def test_what_was_answered_in_one_round_cannot_be_read_in_the_state_of_the_next(client: Client) -> None:
    """MRTR-2: answers of a person ride in it while a tool asks before there is a task."""
    state = client.call("order", {"item": "tea"}).result["requestState"]
    buyer = {"action": "accept", "content": {"name": "Rumpelstilzchen"}}
    second = again(client, "order", state, {"buyer": buyer}, item="tea").result
    assert list(second["inputRequests"]) == ["size"]
    assert b"Rumpel" not in base64.urlsafe_b64decode(second["requestState"])
    created = again(client, "order", second["requestState"], {"size": SMALL}, item="tea").result
    told = client.wait_for(created["taskId"])["result"]
    assert told["content"][0]["text"] == "small tea for Rumpelstilzchen"


def test_any_front_door_takes_up_what_another_began(narrow: Door, plain: Client) -> None:
    """MRTR-2: their processes share the secret and the store."""
    tool = "test_input_required_result_request_state"
    state = plain.call(tool).result["requestState"]
    answers = {"confirm": {"action": "accept", "content": {"ok": True}}}
    retry = request("tools/call", {"name": tool, "arguments": {}, "requestState": state, "inputResponses": answers})
    assert narrow.post(retry).json["result"] == text_result("state-ok: accept")


# What may be asked


@pytest.mark.parametrize(
    ("tool", "capabilities", "required"),
    [
        ("test_streaming_elicitation", {}, {"elicitation": {"form": {}}}),
        ("test_streaming_elicitation", {"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}),
        ("ask_page", {"elicitation": {}}, {"elicitation": {"url": {}}}),
        ("ask_page", {"elicitation": {"form": {}}}, {"elicitation": {"url": {}}}),
        ("ask_model", {"elicitation": {}}, {"sampling": {}}),
        ("test_input_required_result_list_roots", {"sampling": {}}, {"roots": {}}),
        ("test_missing_capability", {}, {"sampling": {}}),
        ("order", {}, {"elicitation": {"form": {}}}),
    ],
)
def test_a_client_is_not_asked_what_it_did_not_declare(
    platform: Platform, tool: str, capabilities: Json, required: Json
) -> None:
    """MRTR-3, C84."""
    arguments = {"item": "tea"} if tool == "order" else {}
    with platform.client(capabilities=capabilities) as client:
        refused = client.call(tool, arguments)
    assert (refused.status, refused.error["code"]) == (400, -32021)
    assert refused.error["data"] == {"requiredCapabilities": required}


@pytest.mark.parametrize("capabilities", [{"elicitation": {}}, {"elicitation": {"form": {}}}])
def test_an_empty_declaration_means_forms(platform: Platform, capabilities: Json) -> None:
    """MRTR-3, C84."""
    with platform.client(capabilities=capabilities) as client:
        asked(client.call("test_streaming_elicitation"), {"user_name": NAME_FORM})


def test_a_client_is_not_asked_in_a_retry_what_that_retry_does_not_declare(platform: Platform, plain: Client) -> None:
    """MRTR-3, C84: the parked question is put before nobody who cannot be asked."""
    tool = "test_input_required_result_request_state"
    state = plain.call(tool).result["requestState"]
    with platform.client(capabilities={}) as client:
        refused = again(client, tool, state, {})
    assert (refused.status, refused.error["code"]) == (400, -32021)
    asked(again(plain, tool, state, {}), plain.call(tool).result["inputRequests"])


# Input before a task


def test_all_rounds_come_before_the_task(client: Client, records: Redis) -> None:
    """MRTR-5, C85: the first answers ride in the state; nothing is stored until all are there."""
    keys = _tasks(records)
    first = client.call("order", {"item": "tea"}).result
    assert (first["resultType"], sorted(first["inputRequests"])) == ("input_required", ["buyer", "size"])
    size = {"size": {"action": "accept", "content": {"size": "large"}}}
    second = again(client, "order", first["requestState"], size, item="tea").result
    assert (second["resultType"], list(second["inputRequests"])) == ("input_required", ["buyer"])
    assert _tasks(records) <= keys
    created = again(client, "order", second["requestState"], {"buyer": ANN}, item="tea").result
    assert set(created) == {
        "resultType",
        "taskId",
        "status",
        "statusMessage",
        "createdAt",
        "lastUpdatedAt",
        "ttlMs",
        "pollIntervalMs",
        "_meta",
    }
    assert created["resultType"] == "task"
    task = client.wait_for(created["taskId"])
    assert task["result"] == text_result("large tea for Ann")


def test_answers_may_come_with_the_first_call(client: Client, plain: Client) -> None:
    """MRTR-5: a client that knows what will be asked need not wait for it."""
    answers = {"size": {"action": "accept", "content": {"size": "small"}}, "buyer": ANN}
    created = client.call("order", {"item": "tea"}, params={"inputResponses": answers}).result
    assert client.wait_for(created["taskId"])["result"] == text_result("small tea for Ann")
    waited = plain.call("order", {"item": "tea"}, params={"inputResponses": answers})
    assert waited.result == text_result("small tea for Ann")


def test_a_first_answer_that_its_author_refuses_is_said_so(client: Client) -> None:
    """MRTR-4: in the author's words, and the question stays open."""
    first = client.call("order", {"item": "tea"}).result
    root = {"buyer": {"action": "accept", "content": {"name": "root"}}}
    refused = again(client, "order", first["requestState"], root, item="tea")
    assert (refused.status, refused.error["code"]) == (400, -32602)
    assert "root is not a person" in refused.error["message"]


def test_a_call_that_waits_for_input_holds_nothing(plain: Client) -> None:
    """MRTR-1: many calls are parked at once, and others are served meanwhile."""
    tool = "test_input_required_result_request_state"
    with ThreadPoolExecutor(8) as pool:
        states = [one.result["requestState"] for one in pool.map(lambda _: plain.call(tool), range(24))]
    assert plain.call("test_simple_text").status == 200
    answers = {"confirm": {"action": "accept", "content": {"ok": True}}}
    wait_until(lambda: again(plain, tool, states[-1], answers).result == text_result("state-ok: accept"))


def _tasks(records: Redis) -> set[bytes]:
    return set(records.scan_iter("coatcheck:*:task:*", count=1_000))
