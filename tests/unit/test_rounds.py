"""What a tool asks before its job begins."""

import json
from typing import Any

import pytest

from coatcheck import Elicit, tool
from coatcheck.tasks_store import ANONYMOUS
from coatcheck.web.errors import InvalidParams, MissingClientCapability
from coatcheck.web.server.threads import AuthorCodeThread
from coatcheck.web.tool_calls.first_inputs import FirstAnswers, collect_first_answers
from coatcheck.web.tool_calls.request_state import CallBinding, RequestState, StateSealer
from coatcheck.workers.toolkit.errors import InvalidArguments
from coatcheck.workers.toolkit.tool import Tool, tool_of


def no_bob(content: dict[str, Any]) -> None:
    """An author's check."""
    if content["name"] == "Bob":
        raise ValueError("not Bob again")


@tool(
    ask_first={
        "who": Elicit("Who?", {"name": str}, validate=no_bob),
        "when": Elicit("When?", {"hour": int}),
    }
)
def asks(where: str = "here") -> str:
    """Asks two things first."""
    return where


@tool(ask_first=lambda arguments: {"sure": Elicit("Sure?", {"yes": bool})} if arguments["amount"] > 10 else {})
def asks_sometimes(amount: int) -> str:
    """Asks when it is much."""
    return str(amount)


FORM = {"elicitation": {"form": {}}}
AUTHORS = AuthorCodeThread()
SEALER = StateSealer(lambda: b"s" * 32, 60)
WHO = {"action": "accept", "content": {"name": "Al"}}
WHEN = {"action": "decline"}


def defined(function: object) -> Tool:
    """What `@tool` made of it."""
    found = tool_of(function)
    assert found is not None
    return found


def round_of(
    function: object,
    arguments: dict[str, Any] | None = None,
    *,
    state: RequestState | None = None,
    responses: dict[str, object] | None = None,
    declared: dict[str, object] | None = None,
) -> FirstAnswers | dict[str, Any]:
    """One round of a call."""
    one, given = defined(function), arguments or {}
    binding = CallBinding(ANONYMOUS, one.name, given)
    said = FORM if declared is None else declared
    return collect_first_answers(one, given, state or RequestState(), responses or {}, said, binding, SEALER, AUTHORS)


def state_in(result: FirstAnswers | dict[str, Any]) -> RequestState:
    """The state that a client would bring back."""
    assert isinstance(result, dict)
    return SEALER.open(CallBinding(ANONYMOUS, "asks", {}).salt, result["requestState"])


def asked_in(result: FirstAnswers | dict[str, Any]) -> list[str]:
    """The keys that are asked for."""
    assert isinstance(result, dict)
    assert result["resultType"] == "input_required"
    return list(result["inputRequests"])


def test_answers_are_gathered_over_rounds_and_other_keys_ignored() -> None:
    """MRTR-4, MRTR-5."""
    first = round_of(asks)
    assert asked_in(first) == ["who", "when"]
    again = round_of(asks, state=state_in(first), responses={"what": 1})
    assert asked_in(again) == ["who", "when"]
    second = round_of(asks, state=state_in(again), responses={"who": WHO, "what": 1})
    assert asked_in(second) == ["when"]
    last = round_of(asks, state=state_in(second), responses={"when": WHEN, "who": {"action": "cancel"}})
    assert isinstance(last, FirstAnswers)
    assert {key: json.loads(answer) for key, (_, answer) in last.answers.items()} == {"who": WHO, "when": WHEN}
    assert json.loads(last.answers["who"][0])["method"] == "elicitation/create"


@pytest.mark.parametrize(
    "answer", [{"action": "accept", "content": {"name": 7}}, {"action": "accept", "content": {"name": "Bob"}}, None]
)
def test_a_wrong_answer_names_its_key_and_may_be_given_again(answer: object) -> None:
    """MRTR-4, C82, C83."""
    with pytest.raises(InvalidParams, match="who"):
        round_of(asks, responses={"who": answer, "when": WHEN})


def test_nobody_is_asked_for_what_was_not_declared() -> None:
    """MRTR-3, C84."""
    with pytest.raises(MissingClientCapability):
        round_of(asks, declared={})
    with pytest.raises(MissingClientCapability):
        round_of(asks, declared={"elicitation": {"url": {}}})


def test_the_arguments_may_decide_what_is_asked() -> None:
    """MRTR-5."""
    assert round_of(asks_sometimes, {"amount": 1}) == FirstAnswers({})
    assert asked_in(round_of(asks_sometimes, {"amount": 11})) == ["sure"]
    with pytest.raises(InvalidArguments):
        round_of(asks_sometimes, {"amount": "x"})
