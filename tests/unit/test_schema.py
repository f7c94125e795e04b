"""The schemas of what a tool takes and gives, and the values that pass them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal
from uuid import UUID

import marshmallow
import pytest
from hypothesis import given
from hypothesis import strategies as st
from marshmallow import fields, validate
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, RootModel
from typing_extensions import TypedDict

from coatcheck.workers.toolkit.content import Image, Text, ToolResult
from coatcheck.workers.toolkit.errors import (
    InvalidArguments,
    OutputMismatch,
    ToolDefinitionError,
    UnsendableValue,
)
from coatcheck.workers.toolkit.expose import exposed_tool
from coatcheck.workers.toolkit.header_params import Header, HeaderParam, header_params
from coatcheck.workers.toolkit.schemas import (
    NOTHING,
    Arguments,
    Output,
    arguments_of,
    output_of,
    signature_of,
)


class Context:
    """Stands for the run's own, which is known by this name."""


class Colour(Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    y: int = 0


class Person(BaseModel):
    name: str
    friends: list[Person] = []


class Row(TypedDict):
    total: Decimal


class Sample(BaseModel):
    x: float


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    day: date


def arguments(function: Callable[..., Any], given: object = None) -> Arguments:
    """What a function takes."""
    return arguments_of(signature_of(function, tool="t"), given, tool="t")


def output(function: Callable[..., Any], given: object = None) -> Output:
    """What a function gives."""
    return output_of(signature_of(function, tool="t"), given, tool="t")


def not_foo(value: str) -> str:
    if value == "foo":
        raise ValueError("is foo")
    return value


def plot(
    ctx: Context,
    points: list[Point],
    name: Annotated[str, Field(description="Of the plot", max_length=5)],
    colour: Colour = Colour.RED,
    size: Literal["small", "large"] = "small",
    day: date | None = None,
    *,
    scale: int = 1,
) -> None:
    """Draws."""


def test_the_signature_gives_the_whole_schema_without_the_context() -> None:
    """LIST-1."""
    assert arguments(plot).schema == {
        "$defs": {
            "Colour": {"enum": ["red"], "title": "Colour", "type": "string"},
            "Point": {
                "properties": {"x": {"type": "integer"}, "y": {"default": 0, "type": "integer"}},
                "required": ["x"],
                "title": "Point",
                "type": "object",
            },
        },
        "additionalProperties": False,
        "properties": {
            "points": {"items": {"$ref": "#/$defs/Point"}, "type": "array"},
            "name": {"description": "Of the plot", "maxLength": 5, "type": "string"},
            "colour": {"$ref": "#/$defs/Colour", "default": "red"},
            "size": {"default": "small", "enum": ["small", "large"], "type": "string"},
            "day": {"anyOf": [{"format": "date", "type": "string"}, {"type": "null"}], "default": None},
            "scale": {"default": 1, "type": "integer"},
        },
        "required": ["points", "name"],
        "type": "object",
    }


def test_arguments_reach_the_function_in_its_own_types() -> None:
    sent = {"points": [{"x": 1}], "name": "a", "colour": "red", "day": "2026-02-01", "scale": 2.0}
    assert arguments(plot).load(sent) == {
        "points": [Point(1)],
        "name": "a",
        "colour": Colour.RED,
        "size": "small",
        "day": date(2026, 2, 1),
        "scale": 2,
    }


@pytest.mark.parametrize(
    ("sent", "faults"),
    [
        ({}, ["points: is required", "name: is required"]),
        ({"points": [], "name": 3}, ["name: is not of type 'string'"]),
        ({"points": [], "name": "abcdef"}, ["name: is longer than 5 characters"]),
        ({"points": [{"x": 1}, {"x": True}], "name": "a"}, ["points[1].x: is not of type 'integer'"]),
        ({"points": [{}], "name": "a"}, ["points[0].x: is required"]),
        ({"points": [], "name": "a", "size": "huge"}, ["size: is not one of 'small' or 'large'"]),
        ({"points": [], "name": "a", "colour": "blue"}, ["colour: is not one of 'red'"]),
        ({"points": [], "name": "a", "ctx": 1}, ["ctx: is not known here"]),
        ({"points": [], "name": "a", "day": 3}, ["day: is not of type 'string', or is not of type 'null'"]),
        ({"points": [], "name": "a", "scale": "1"}, ["scale: is not of type 'integer'"]),
    ],
)
def test_each_bad_argument_is_named_with_its_reason(sent: dict[str, Any], faults: list[str]) -> None:
    """CALL-1."""
    found = arguments(plot).faults(sent)
    assert sorted(found) == sorted(faults)
    with pytest.raises(InvalidArguments):
        arguments(plot).load(sent)


def test_what_only_the_type_can_check_is_a_fault_of_the_argument_too() -> None:
    def f(day: date, word: Annotated[str, AfterValidator(not_foo)], key: UUID) -> None: ...

    assert arguments(f).faults({"day": "2026-02-28", "word": "bar", "key": "0" * 32}) == []
    faults = arguments(f).faults({"day": "2026-13-01", "word": "foo", "key": "hunter2"})
    assert [fault.partition(":")[0] for fault in faults] == ["day", "word", "key"]
    assert "hunter2" not in str(faults)


def test_a_flood_of_faults_is_cut_short() -> None:
    faults = arguments(plot).faults({"name": "a", "points": ["x" * 1000] * 5000} | {"y" * 10_000: 1})
    assert len(faults) < 30
    assert sum(map(len, faults)) < 5000


def test_open_keywords_are_taken_when_the_function_takes_them() -> None:
    def f(a: int, **more: int) -> None: ...

    assert arguments(f).schema["additionalProperties"] == {"type": "integer"}
    assert arguments(f).load({"a": 1, "b": 2}) == {"a": 1, "b": 2}
    assert arguments(f).faults({"a": 1, "b": "x"}) == ["b: is not of type 'integer'"]


def test_parameters_may_have_any_name() -> None:
    def f(schema: str, json: int = 1, model_config: str = "x", _hidden: int = 0, self: int = 0) -> None: ...

    sent = {"schema": "s", "json": 2, "model_config": "y", "_hidden": 3, "self": 4}
    assert arguments(f).load(sent) == sent


def test_a_tool_without_parameters_takes_an_empty_object() -> None:
    def f(ctx: Context) -> None: ...

    assert arguments(f).schema == {"additionalProperties": False, "properties": {}, "type": "object"}
    assert arguments(f).load({}) == {}
    assert signature_of(f, tool="t").takes_context


def positional(a: int, /) -> None: ...


def variadic(*a: int) -> None: ...


def late_context(a: int, ctx: Context) -> None: ...


def unresolved(a: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821


def unfit(a: Callable[[], int]) -> None: ...


def unfit_object(a: threading.Lock) -> None: ...  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize("function", [positional, variadic, late_context, unresolved, unfit, unfit_object])
def test_a_signature_that_arguments_cannot_fill_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(ToolDefinitionError, match="'t'"):
        arguments(function)


class Address(marshmallow.Schema):
    street = fields.String(required=True)
    id = fields.Integer(dump_only=True)


class Order(marshmallow.Schema):
    amount = fields.Decimal(required=True)
    day = fields.Date(load_default=date(2026, 1, 1))
    note = fields.String(allow_none=True, load_only=True)
    size = fields.String(validate=validate.OneOf(["s", "l"]), load_default="s")
    to = fields.Nested(Address, data_key="address")

    @marshmallow.validates("amount")
    def positive(self, value: Decimal, data_key: str) -> None:
        if value <= 0:
            raise marshmallow.ValidationError("must be positive")


def order(amount: Decimal, day: date, size: str, note: str | None = None, to: dict[str, Any] | None = None) -> None: ...


def test_a_marshmallow_schema_gives_the_input_schema() -> None:
    schema = arguments(order, Order).schema
    assert schema == {
        "$defs": {
            "Address": {
                "additionalProperties": False,
                "properties": {"street": {"type": "string"}},
                "required": ["street"],
                "type": "object",
            }
        },
        "additionalProperties": False,
        "properties": {
            "amount": {"type": "number"},
            "day": {"default": "2026-01-01", "format": "date", "type": "string"},
            "note": {"type": ["string", "null"], "writeOnly": True},
            "size": {"default": "s", "enum": ["s", "l"], "type": "string"},
            "address": {"$ref": "#/$defs/Address"},
        },
        "required": ["amount"],
        "type": "object",
    }


def test_marshmallow_loads_the_arguments() -> None:
    taken = arguments(order, Order())
    assert taken.load({"amount": 2, "address": {"street": "x"}}) == {
        "amount": Decimal(2),
        "day": date(2026, 1, 1),
        "size": "s",
        "to": {"street": "x"},
    }
    assert taken.faults({"amount": -1, "day": "never"}) == ["day: Not a valid date.", "amount: must be positive"]
    assert taken.faults({"amount": 1, "address": {}}) == ["address.street: is required"]
    assert taken.faults({"amount": 1, "x": 1}) == ["x: is not known here"]


def test_a_marshmallow_schema_gives_the_output_schema_and_dumps_the_value() -> None:
    given_ = output(order, Order)
    assert given_.schema is not None
    assert "note" not in given_.schema["properties"]
    assert given_.dump({"amount": Decimal("1.5"), "day": date(2026, 1, 2), "size": "l"}) == {
        "amount": 1.5,
        "day": "2026-01-02",
        "size": "l",
    }
    with pytest.raises(OutputMismatch):
        given_.dump({"amount": Decimal(1), "size": "huge"})
    assert output(order, Address(many=True)).dump([{"street": "x", "id": 1}]) == [{"street": "x", "id": 1}]


WILD = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$defs": {"a": {"$anchor": "addr", "type": "object", "properties": {"street": {"type": "string"}}}},
    "type": "object",
    "properties": {"a": {"$ref": "#addr"}, "day": {"type": "string", "format": "date"}, "n": {"type": "integer"}},
    "allOf": [{"anyOf": [{"required": ["a"]}, {"required": ["n"]}]}],
    "if": {"required": ["n"]},
    "then": {"properties": {"n": {"minimum": 1}}},
    "else": {},
}


def test_a_json_schema_is_kept_untouched_and_checked_whole() -> None:
    def f(a: object = None, day: str = "", n: int = 0) -> None: ...

    taken = arguments(f, WILD)
    assert taken.schema == WILD
    assert taken.load({"n": 1, "extra": 2}) == {"n": 1}
    assert taken.faults({"n": 0}) == ["n: is less than the minimum of 1"]
    assert taken.faults({"n": 1, "day": "2026-13-01"}) == ["day: is not a 'date'"]
    assert taken.faults({"a": {"street": 3}}) == ["a.street: is not of type 'string'"]
    assert taken.faults({}) == ["arguments: 'a' is a required property, or 'n' is a required property"]


def test_a_pydantic_model_gives_its_fields_as_arguments() -> None:
    def f(name: str, friends: list[Person]) -> None: ...

    taken = arguments(f, Person)
    assert taken.schema["type"] == "object"
    assert taken.load({"name": "A", "friends": [{"name": "B"}]}) == {"name": "A", "friends": [Person(name="B")]}
    assert taken.faults({"name": "A", "friends": [{}]}) == ["friends[0].name: is required"]


def test_a_strict_type_still_takes_what_json_can_say() -> None:
    def f(day: date) -> None: ...

    assert arguments(f, Strict).load({"day": "2026-01-01"}) == {"day": date(2026, 1, 1)}


@pytest.mark.parametrize(
    "given_",
    [
        7,
        int,
        {"type": "array"},
        {"type": "object", "properties": {"other": {}}},
        {"type": "object", "properties": {"needed": {}}},
        {"type": "object", "properties": {"needed": {"type": "strin"}}, "required": ["needed"]},
        {"type": "object", "properties": {"needed": {"$ref": "https://a.example/s"}}, "required": ["needed"]},
        {"type": "object", "properties": {"needed": {"$ref": "#/$defs/nowhere"}}, "required": ["needed"]},
        Person,
        Order,
        Order(many=True),
    ],
)
def test_an_input_that_does_not_fit_the_function_is_refused(given_: object) -> None:
    def f(needed: str, free: str = "") -> None: ...

    with pytest.raises(ToolDefinitionError, match="'t'"):
        arguments(f, given_)


@pytest.mark.parametrize(
    "returns",
    [
        None,
        str,
        bytes,
        Any,
        object,
        str | None,
        Text,
        list[Image],
        list[Text | Image],
        ToolResult,
        Point | ToolResult,
        Text | None,
        Annotated[str, "x"],
    ],
)
def test_what_is_shown_promises_no_structure(returns: object) -> None:
    def f() -> None: ...

    f.__annotations__ = {"return": returns}
    assert output(f).schema is None


@pytest.mark.parametrize(
    ("returns", "schema", "value", "sent"),
    [
        (int, {"type": "integer"}, 3, 3),
        (list[int], {"type": "array", "items": {"type": "integer"}}, [1], [1]),
        (list[str], {"type": "array", "items": {"type": "string"}}, ["a"], ["a"]),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}, None, None),
        (dict[str, date], None, {"a": date(2026, 1, 1)}, {"a": "2026-01-01"}),
        (datetime, {"type": "string", "format": "date-time"}, datetime(2026, 1, 1), "2026-01-01T00:00:00"),  # noqa: DTZ001
        (Point, None, Point(1, 2), {"x": 1, "y": 2}),
        (Point, None, {"x": 1, "y": 2}, {"x": 1, "y": 2}),
        (Row, None, {"total": Decimal("0.10")}, {"total": "0.10"}),
        (Person, None, Person(name="A"), {"name": "A", "friends": []}),
        (Colour, {"enum": ["red"], "title": "Colour", "type": "string"}, Colour.RED, "red"),
        (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, {1}, [1]),
    ],
)
def test_a_return_type_promises_its_structure(returns: object, schema: object, value: object, sent: object) -> None:
    """CALL-2."""

    def f() -> None: ...

    f.__annotations__ = {"return": returns}
    given_ = output(f)
    assert given_.schema == (schema or given_.schema)
    assert given_.schema is not None
    assert given_.dump(value) == sent


@pytest.mark.parametrize(
    ("returns", "value"),
    [(int, "3"), (int, 1.5), (Point, {"y": 1}), (Point, 3), (list[int], [1, "a"]), (Person, None), (Person, Point(1))],
)
def test_a_value_that_breaks_the_promise_is_told_apart(returns: object, value: object) -> None:
    """CALL-2, C64."""

    def f() -> None: ...

    f.__annotations__ = {"return": returns}
    with pytest.raises(OutputMismatch) as refused:
        output(f).dump(value)
    assert refused.value.faults


@pytest.mark.parametrize(
    ("returns", "value"),
    [
        (dict, {"a": float("nan")}),
        (Sample, Sample(x=float("inf"))),
        (dict, {"a": object()}),
        (list, ["\ud800"]),
        (int, 2**70),
    ],
)
def test_a_promised_value_that_cannot_be_sent_is_refused(returns: object, value: object) -> None:
    def f() -> None: ...

    f.__annotations__ = {"return": returns}
    with pytest.raises(UnsendableValue):
        output(f).dump(value)


def test_output_may_be_given_as_a_schema_or_a_type() -> None:
    def f() -> None: ...

    schema = {"type": "array", "items": {"type": "integer"}}
    assert output(f, schema).schema == schema
    assert output(f, schema).dump((1, 2)) == [1, 2]
    assert output(f, str).schema == {"type": "string"}
    assert output(f, Point).dump(Point(1)) == {"x": 1, "y": 0}
    for bad in ({"type": "strin"}, Callable[[], int]):
        with pytest.raises(ToolDefinitionError):
            output(f, bad)


def test_header_parameters_are_found_where_they_stand() -> None:
    """HDR-4."""

    def f(region: Annotated[str, Header("Region")], n: Annotated[int, Header("N")] = 0, free: str = "") -> None: ...

    schema = arguments(f).schema
    assert schema["properties"]["region"] == {"type": "string", "x-mcp-header": "Region"}
    assert header_params("t", schema) == (
        HeaderParam("Region", ("region",), "string"),
        HeaderParam("N", ("n",), "integer"),
    )
    nested = {"type": "object", "properties": {"b": {"type": "boolean", "x-mcp-header": "B"}}}
    assert header_params("t", {"properties": {"a": nested}}) == (HeaderParam("B", ("a", "b"), "boolean"),)


def test_data_and_properties_with_the_name_of_the_annotation_are_not_annotations() -> None:
    schema = {
        "properties": {"x-mcp-header": {"type": "string"}, "a": {"default": {"x-mcp-header": ""}}},
        "examples": [{"x-mcp-header": 1}],
    }
    assert header_params("t", schema) == ()


def annotated(name: object, **more: object) -> dict[str, Any]:
    """A string parameter with a header."""
    return {"type": "string", "x-mcp-header": name, **more}


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": annotated("")}},
        {"properties": {"a": annotated("a b")}},
        {"properties": {"a": annotated("a\r\n")}},
        {"properties": {"a": annotated("Å")}},
        {"properties": {"a": annotated(3)}},
        {"properties": {"a": annotated("A", type="number")}},
        {"properties": {"a": annotated("A", type="object")}},
        {"properties": {"a": annotated("A", type=["string", "null"])}},
        {"properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}], "x-mcp-header": "A"}}},
        {"properties": {"a": {"$ref": "#/$defs/a", "x-mcp-header": "A"}}},
        {"properties": {"a": annotated("A"), "b": annotated("a")}},
        annotated("A"),
        {"$defs": {"a": annotated("A")}},
        {"properties": {"a": {"type": "array", "items": annotated("A")}}},
        {"properties": {"a": {"anyOf": [annotated("A")]}}},
        {"allOf": [{"properties": {"a": annotated("A")}}]},
        {"if": {"properties": {"a": annotated("A")}}},
        {"additionalProperties": annotated("A")},
        {"patternProperties": {"a": annotated("A")}},
    ],
)
def test_an_annotation_that_breaks_a_rule_is_refused(schema: dict[str, Any]) -> None:
    """HDR-4."""
    with pytest.raises(ToolDefinitionError, match="'t'"):
        header_params("t", schema)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
PLOT = arguments(plot)


@given(
    st.dictionaries(st.text(max_size=5), json_values, max_size=3)
    | st.fixed_dictionaries({"name": json_values, "points": st.lists(st.fixed_dictionaries({"x": json_values}))})
)
def test_any_arguments_either_load_or_have_faults(sent: dict[str, Any]) -> None:
    if not PLOT.faults(sent):
        assert set(PLOT.load(sent)) == {"points", "name", "colour", "size", "day", "scale"}


def test_a_decimal_that_is_dumped_as_a_string_is_a_string_in_the_schema() -> None:
    class Price(marshmallow.Schema):
        amount = marshmallow.fields.Decimal(as_string=True)
        tax = marshmallow.fields.Decimal(as_string=True, allow_none=True)

    def price() -> object:
        return {}

    output = output_of(signature_of(price, tool="price"), Price, tool="price")
    assert output.dump({"amount": Decimal("1.10"), "tax": None}) == {"amount": "1.10", "tax": None}


class Counted(marshmallow.Schema):
    a = fields.Integer()


WANTING = [
    (int, None),
    (list[int], None),
    (Point, None),
    (Person, None),
    (Any, {"type": "object"}),
    (Any, Counted),
    (Any, Counted(many=True)),
]
"""Return annotations and schemas that want a value."""


@pytest.mark.parametrize(("returns", "given"), WANTING)
def test_a_tool_that_returns_nothing_is_told_so(returns: object, given: object) -> None:
    """K4.11"""

    def f() -> None: ...

    f.__annotations__["return"] = returns
    with pytest.raises(OutputMismatch) as refused:
        output_of(signature_of(f, tool="f"), given, tool="f").dump(None)
    assert refused.value.faults == [NOTHING]


@pytest.mark.parametrize(
    ("returns", "value", "fault"),
    [
        (int, "seven", "result: is not of type 'integer', but a string"),
        (list[int], [1, None], "[1]: is not of type 'integer', but null"),
        (int | list[int], {}, "result: is not of type 'integer', or is not of type 'array', but an object"),
    ],
)
def test_a_result_of_a_wrong_type_is_told_with_the_type_that_came(returns: object, value: object, fault: str) -> None:
    """K4.11"""

    def f() -> None: ...

    f.__annotations__["return"] = returns
    with pytest.raises(OutputMismatch) as refused:
        output_of(signature_of(f, tool="f"), tool="f").dump(value)
    assert refused.value.faults == [fault]


def test_a_value_that_its_marshmallow_schema_cannot_dump_is_told_as_that() -> None:
    """K4.11"""

    def f() -> None: ...

    with pytest.raises(UnsendableValue, match="of type dict"):
        output_of(signature_of(f, tool="f"), Counted, tool="f").dump({"a": "x"})


class Cat(BaseModel):
    lives: int


class Dog(BaseModel):
    tricks: list[str]


class Pet(RootModel[Cat | Dog]):
    """No object of its own."""


def any_arguments(**arguments: Any) -> None: ...


NO_INPUTS: dict[str, Any] = {
    "a root model": Pet,
    "no type": {"properties": {}},
    "a union": {"anyOf": [{"type": "object"}]},
    "a list of types": {"type": ["object"]},
    "an array": {"type": "array"},
    "a property that is true": {"type": "object", "properties": {"a": True}},
    "properties that are none": {"type": "object", "properties": None},
    "a required that is a word": {"type": "object", "required": "a"},
    "a key that is no string": {"type": "object", "properties": {1: {}}},
    "a value without a form": {"type": "object", "properties": {"a": {"default": {1, 2}}}},
    "a number that JSON lacks": {"type": "object", "properties": {"a": {"default": float("nan")}}},
    "a half character": {"type": "object", "description": "\ud800"},
}


@pytest.mark.parametrize("given", NO_INPUTS.values(), ids=NO_INPUTS)
def test_an_input_that_official_clients_cannot_list_is_refused(given: Any) -> None:
    """K4.8: they would drop every tool of the list with it."""
    with pytest.raises(ToolDefinitionError):
        arguments(any_arguments, given)
    if isinstance(given, dict):
        with pytest.raises(ToolDefinitionError):
            exposed_tool("a.b", input=given)


def test_what_has_a_form_in_json_is_listed_in_it() -> None:
    """K4.8: a file of exposed tasks holds dates, a program decimals."""
    given = {
        "type": "object",
        "properties": {"day": {"default": date(2026, 1, 2)}, "price": {"default": Decimal("1.5")}},
    }
    listed = arguments(any_arguments, given).schema
    assert listed["properties"] == {"day": {"default": "2026-01-02"}, "price": {"default": "1.5"}}


@pytest.mark.parametrize("given", [{"type": "object", "default": {1}}, {"type": "integer", "default": float("inf")}])
def test_an_output_that_cannot_be_listed_is_refused(given: Any) -> None:
    """K4.8"""
    with pytest.raises(ToolDefinitionError):
        output_of(signature_of(any_arguments, tool="f"), given, tool="f")


@pytest.mark.parametrize("name", ["ctx", "context"])
def test_a_context_without_an_annotation_is_refused_with_the_remedy(name: str) -> None:
    """K4.10"""
    taken: dict[str, Any] = {}
    exec(f"def noann({name}, x): ...\ndef later(x, {name}=None): ...\ndef told({name}: str, x): ...", taken)
    for function in (taken["noann"], taken["later"]):
        with pytest.raises(ToolDefinitionError, match=f"`{name}: Context`"):
            signature_of(function, tool="f")
    assert set(signature_of(taken["told"], tool="f").parameters) == {name, "x"}
