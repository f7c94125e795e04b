"""What is typed into a form becomes what the schema wants, or is refused with a reason."""

import math
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coatcheck.client.terminal.fields import Choice, Field, NotAccepted, fields_of


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": []},
        {"properties": {"a": 5}, "required": 7},
        {"properties": {"a": {"type": "array", "items": 5, "minItems": "x"}}, "required": "a"},
        {"properties": {"a": {"oneOf": 5, "enum": 6}}},
        {"properties": {"a": {"enum": ["x"], "enumNames": 3, "minLength": None}}},
        {"properties": {"a": {"type": "integer", "minimum": "1", "maximum": True, "title": 5, "format": []}}},
    ],
)
def test_a_form_that_is_none_is_shown_as_far_as_it_goes(schema: dict[str, Any]) -> None:
    """K5.1: the errors of servers end in no traceback."""
    for field in fields_of(schema):
        assert field.hint is not None
        assert isinstance(field.shown(1), str)
        with suppress(NotAccepted):
            field.parse("1")
        with suppress(NotAccepted):
            field.check_count(1)


def field(*, required: bool = True, **rules: Any) -> Field:
    (only,) = fields_of({"type": "object", "properties": {"it": rules}, "required": ["it"] if required else []})
    return only


@pytest.mark.parametrize(
    ("rules", "kind"),
    [
        ({"type": "string"}, "text"),
        ({"type": "string", "format": "date"}, "text"),
        ({"type": "integer"}, "integer"),
        ({"type": "number"}, "number"),
        ({"type": "boolean"}, "boolean"),
        ({"type": "string", "enum": ["a", "b"]}, "choice"),
        ({"type": "string", "oneOf": [{"const": "a", "title": "A"}]}, "choice"),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, "choices"),
        ({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}, "choices"),
        ({"type": "object"}, "json"),
        ({"type": ["string", "null"]}, "json"),
    ],
)
def test_each_kind_of_property_has_its_field(rules: dict[str, Any], kind: str) -> None:
    assert field(**rules).kind == kind


def test_titled_choices_show_their_titles() -> None:
    colours = field(type="string", oneOf=[{"const": "#f00", "title": "Red"}, {"const": "#0f0", "title": "Green"}])
    assert colours.choices == (Choice("#f00", "Red"), Choice("#0f0", "Green"))
    assert colours.shown("#0f0") == "Green"


def test_choices_may_carry_names_as_older_servers_send_them() -> None:
    assert field(type="string", enum=["r"], enumNames=["Red"]).choices == (Choice("r", "Red"),)


@pytest.mark.parametrize(
    ("rules", "typed", "value"),
    [
        ({"type": "string"}, " as typed ", " as typed "),
        ({"type": "string", "minLength": 2, "maxLength": 3}, "abc", "abc"),
        ({"type": "string", "format": "email"}, " a@b.example ", "a@b.example"),
        ({"type": "string", "format": "date"}, "2027-03-31", "2027-03-31"),
        ({"type": "string", "format": "date-time"}, "2027-03-31T14:00:00+02:00", "2027-03-31T14:00:00+02:00"),
        ({"type": "string", "format": "date-time"}, "2027-03-31T14:00:00Z", "2027-03-31T14:00:00+00:00"),
        ({"type": "string", "format": "uri"}, "https://a.example/b", "https://a.example/b"),
        ({"type": "integer"}, "-3", -3),
        ({"type": "integer"}, "3.0", 3),
        ({"type": "number"}, "2.5", 2.5),
        ({"type": "number", "minimum": 1, "maximum": 2}, "1", 1),
        ({"type": "object"}, '["a", "b"]', ["a", "b"]),
    ],
)
def test_what_is_typed_becomes_the_value(rules: dict[str, Any], typed: str, value: object) -> None:
    parsed = field(**rules).parse(typed)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("rules", "typed"),
    [
        ({"type": "string"}, ""),
        ({"type": "string"}, "   "),
        ({"type": "string", "minLength": 2}, "a"),
        ({"type": "string", "maxLength": 2}, "abc"),
        ({"type": "string", "format": "email"}, "nobody"),
        ({"type": "string", "format": "email"}, "a@b@c"),
        ({"type": "string", "format": "date"}, "31.3.2027"),
        ({"type": "string", "format": "date"}, "2027-02-30"),
        ({"type": "string", "format": "date-time"}, "yesterday"),
        ({"type": "string", "format": "uri"}, "no address"),
        ({"type": "string", "format": "uri"}, "http://[broken"),
        ({"type": "integer"}, "2.5"),
        ({"type": "integer"}, "many"),
        ({"type": "number"}, "nan"),
        ({"type": "number"}, "1e999"),
        ({"type": "number", "minimum": 1}, "0"),
        ({"type": "number", "maximum": 1}, "2"),
        ({"type": "object"}, "{"),
        ({"type": "object"}, '{"a": 1}'),
        ({"type": "object"}, "[1]"),
        ({"type": "object"}, "null"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(rules: dict[str, Any], typed: str) -> None:
    with pytest.raises(NotAccepted, match=r"\.$"):
        field(**rules).parse(typed)


def test_a_date_and_time_without_a_zone_is_taken_for_local_time() -> None:
    """Source: the format date-time is RFC 3339's, which wants an offset."""
    value = field(type="string", format="date-time").parse("2027-03-31 14:00")
    assert value[:19] == "2027-03-31T14:00:00"
    assert len(value) == len("2027-03-31T14:00:00+00:00")


def test_an_optional_field_may_stay_empty_and_a_required_text_may_be_empty_if_it_says_so() -> None:
    assert field(required=False, type="integer").parse("") is None
    assert field(required=False, type="string", minLength=3).parse(" ") is None
    assert field(type="string", minLength=0).parse("") == ""


def test_the_number_of_ticked_choices_is_checked() -> None:
    sizes = field(type="array", items={"type": "string", "enum": ["S", "M", "L"]}, minItems=1, maxItems=2)
    sizes.check_count(2)
    for count in (0, 3):
        with pytest.raises(NotAccepted):
            sizes.check_count(count)
    field(required=False, type="array", items={"enum": ["S"]}, minItems=1).check_count(0)


def test_hints_tell_what_is_expected() -> None:
    assert field(type="integer", minimum=2, maximum=20).hint == "2 to 20"
    assert field(type="string", format="date", required=False).hint == "like 2027-03-31, optional"
    assert field(type="string").hint == ""


def test_labels_come_from_the_title_or_the_name_and_cannot_move_the_cursor() -> None:
    assert field(type="string").label == "It"
    assert field(type="string", title="A\x1b[2J\ntitle").label == "A[2J title"


@given(st.text(max_size=40), st.sampled_from(["string", "integer", "number", "object"]))
def test_anything_typed_is_a_finite_value_or_refused(typed: str, kind: str) -> None:
    try:
        value = field(type=kind).parse(typed)
    except NotAccepted:
        return
    assert kind == "object" or not isinstance(value, float) or math.isfinite(value)
