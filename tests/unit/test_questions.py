"""What a task asks, in words for a model."""

import json
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from jsonschema_rs import validator_for
from pydantic import Field

from coatcheck import Elicit, ElicitURL, Roots, Sample
from coatcheck.web.task_tools.questions import questions_in_words, questions_of
from coatcheck.workers.toolkit.inputs import InputRequest, check_answer

FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 2, "title": "Name", "description": "as in the passport"},
        "day": {"type": "string", "format": "date"},
        "mail": {"type": "string", "format": "email"},
        "age": {"type": "integer", "minimum": 18, "maximum": 99},
        "ratio": {"type": "number"},
        "sure": {"type": "boolean"},
        "size": {"type": "string", "enum": ["s", "l"]},
        "colour": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "b", "title": "Blue"}]},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}, "maxItems": 2},
        "kinds": {"type": "array", "items": {"anyOf": [{"const": "k", "title": "Kind"}]}},
    },
    "required": ["name", "sure"],
}


class Day(Enum):
    """A choice."""

    MONDAY = "monday"


def asked(**requests: InputRequest) -> dict[str, bytes]:
    """Outstanding inputs as the store has them."""
    return {key: json.dumps(request.to_wire()).encode() for key, request in requests.items()}


def test_every_kind_of_field_is_told() -> None:
    told = questions_in_words("0" * 33, questions_of(asked(person=Elicit("Who?", FORM))))
    assert [line.strip() for line in told.splitlines() if line.startswith("  - ")] == [
        "- name: a text (at least 2 characters), required (Name: as in the passport)",
        "- day: a date, such as 2026-07-28",
        "- mail: an e-mail address",
        "- age: a whole number (at least 18, at most 99)",
        "- ratio: a number",
        "- sure: true or false, required",
        '- size: one of "s", "l"',
        '- colour: one of "r" (Red), "b" (Blue)',
        '- tags: a list of "x", "y" (at most 2 of them)',
        '- kinds: a list of "k" (Kind)',
    ]


@pytest.mark.parametrize(
    ("request_", "fitting", "wrong"),
    [
        (Elicit("Sure?", {"yes": bool}), {"action": "accept", "content": {"yes": True}}, {"action": "maybe"}),
        (Elicit("Which?", {"day": Day, "n": Annotated[int, Field(ge=1)]}), {"action": "decline"}, {"yes": True}),
        (Elicit("Size?", {"size": Literal["s"]}), {"action": "cancel"}, {"action": "accept", "content": {"size": "x"}}),
        (ElicitURL("Sign in", "https://a.test"), {"action": "accept"}, {}),
        (
            Sample("Say it"),
            {"role": "assistant", "content": {"type": "text", "text": "it"}, "model": "m"},
            {"role": "assistant", "content": "it", "model": "m"},
        ),
        (Roots(), {"roots": [{"uri": "file:///a", "name": "a"}]}, {"roots": [{"uri": "https://a.test"}]}),
    ],
    ids=["form", "declined", "cancelled", "url", "sampling", "roots"],
)
def test_the_schema_of_an_answer_takes_what_is_taken_and_refuses_what_is_refused(
    request_: InputRequest, fitting: dict[str, Any], wrong: dict[str, Any]
) -> None:
    (question,) = questions_of(asked(key=request_))
    schema = validator_for(question["answer_schema"])
    assert schema.is_valid(fitting)
    assert check_answer(request_.to_wire(), fitting)
    assert not schema.is_valid(wrong)


def test_a_model_is_told_not_to_answer_for_a_person_where_one_is_asked() -> None:
    for request, is_for_person in (
        (Elicit("Sure?", {"yes": bool}), True),
        (ElicitURL("Sign in", "https://a.test"), True),
        (Sample("Say it"), False),
        (Roots(), False),
    ):
        told = questions_in_words("0" * 33, questions_of(asked(key=request)))
        assert ("do not answer in their place" in told) is is_for_person
        assert '"answers": {"key": …}' in told
