"""What a client must have declared, and what becomes of its answers."""

from typing import Any

import orjson
import pytest

from coatcheck.web.errors import InvalidParams, MissingClientCapability
from coatcheck.web.tool_calls.input_responses import check_askable, check_declared, checked_answers

FORM = {
    "method": "elicitation/create",
    "params": {
        "mode": "form",
        "message": "Age?",
        "requestedSchema": {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]},
    },
}
URL = {"method": "elicitation/create", "params": {"mode": "url", "message": "Go", "url": "https://example.test"}}
SAMPLING = {"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}}


@pytest.mark.parametrize(
    ("required", "declared"),
    [
        ({}, {}),
        ({"sampling": {}}, {"sampling": {"tools": {}}}),
        ({"elicitation": {"form": {}}}, {"elicitation": {}}),
        ({"elicitation": {"form": {}}}, {"elicitation": {"form": {}, "url": {}}}),
        ({"extensions": {"x/y": {}}}, {"extensions": {"x/y": {"setting": 1}}}),
    ],
)
def test_what_was_declared_suffices(required: dict[str, Any], declared: dict[str, Any]) -> None:
    """MRTR-3."""
    check_declared(required, declared)


@pytest.mark.parametrize(
    ("required", "declared"),
    [
        ({"sampling": {}}, {}),
        ({"sampling": {}}, {"sampling": None}),
        ({"sampling": {}}, {"sampling": True}),
        ({"elicitation": {"url": {}}}, {"elicitation": {}}),
        ({"elicitation": {"form": {}}}, {"elicitation": {"url": {}}}),
        ({"extensions": {"x/y": {}}}, {"extensions": {}}),
        ({"extensions": {"x/y": {}}}, {"extensions": {"x/y": None}}),
    ],
)
def test_what_is_lacking_is_named_as_the_client_has_to_declare_it(
    required: dict[str, Any], declared: dict[str, Any]
) -> None:
    """MRTR-3, TASK-2, C69."""
    with pytest.raises(MissingClientCapability) as refused:
        check_declared(required, declared)
    assert refused.value.data == {"requiredCapabilities": required}


@pytest.mark.parametrize(
    ("request_", "declared", "lacking"),
    [
        (FORM, {}, {"elicitation": {"form": {}}}),
        (URL, {"elicitation": {}}, {"elicitation": {"url": {}}}),
        (SAMPLING, {"elicitation": {}}, {"sampling": {}}),
    ],
)
def test_nobody_is_asked_for_what_was_not_declared(
    request_: dict[str, Any], declared: dict[str, Any], lacking: dict[str, Any]
) -> None:
    """MRTR-3, C84."""
    with pytest.raises(MissingClientCapability) as refused:
        check_askable({"k": orjson.dumps(request_)}, declared)
    assert refused.value.data == {"requiredCapabilities": lacking}
    check_askable({"k": orjson.dumps(FORM)}, {"elicitation": {}})


def test_only_outstanding_keys_count_and_answers_are_normalised() -> None:
    """TASK-8, MRTR-4, C83."""
    requests = {"a": orjson.dumps(FORM), "b": orjson.dumps(FORM)}
    given = {"b": {"action": "accept", "content": {"age": 18.0, "extra": 1}}, "zz": "whatever"}
    answers = checked_answers(requests, given)
    assert {key: orjson.loads(answer) for key, answer in answers.items()} == {
        "b": {"action": "accept", "content": {"age": 18}}
    }


@pytest.mark.parametrize("wrong", [None, "yes", {}, {"action": "later"}, {"action": "accept", "content": {"age": "x"}}])
def test_one_wrong_answer_refuses_all_of_them_and_names_the_key(wrong: object) -> None:
    """TASK-8, MRTR-4, C82, C83."""
    requests = {"a": orjson.dumps(FORM), "b": orjson.dumps(FORM)}
    with pytest.raises(InvalidParams, match="b"):
        checked_answers(requests, {"a": {"action": "decline"}, "b": wrong})
