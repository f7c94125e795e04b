"""The bytes of a result: how each value is shown, and which cannot be."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Any, NamedTuple
from uuid import UUID

import marshmallow
import mcp_types
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from coatcheck.workers.toolkit.content import Audio, EmbeddedResource, Image, ResourceLink, Text, ToolResult
from coatcheck.workers.toolkit.errors import OutputMismatch, ResultTooLarge, UnsendableValue
from coatcheck.workers.toolkit.jsonable import jsonable
from coatcheck.workers.toolkit.results import completed, tool_error
from coatcheck.workers.toolkit.schemas import Output, output_of, signature_of

SERVER = {"name": "coatcheck", "version": "1"}
META = {"io.modelcontextprotocol/serverInfo": SERVER}


class Colour(Enum):
    RED = "red"


class Size(StrEnum):
    SMALL = "small"


class Level(IntEnum):
    LOW = 1


class Pair(NamedTuple):
    a: int
    b: int


@dataclass
class Point:
    x: int
    y: float = 0.5


class Person(BaseModel):
    name: str
    born: date | None = None


class Item(marshmallow.Schema):
    price = marshmallow.fields.Decimal(as_string=True)


def output(returns: object = None) -> Output:
    """What a tool with this return annotation gives."""

    def f() -> None: ...

    f.__annotations__ = {"return": returns}
    return output_of(signature_of(f, tool="t"), tool="t")


def sent(value: object, declared: Output | None = None, max_bytes: int = 100_000) -> dict[str, Any]:
    """The whole result as a client gets it, which the official model has read."""
    encoded = completed(value, declared or output(), server_info=SERVER, max_bytes=max_bytes)
    mcp_types.CallToolResult.model_validate_json(encoded)
    result: dict[str, Any] = orjson.loads(encoded)
    return result


def text(value: str) -> list[dict[str, Any]]:
    """One text block."""
    return [{"type": "text", "text": value}]


def test_a_string_is_shown_as_text_and_nothing_as_nothing() -> None:
    """RPC-5."""
    assert sent("grüße 🎩") == {
        "resultType": "complete",
        "content": text("grüße 🎩"),
        "isError": False,
        "_meta": META,
    }
    assert sent(None) == {"resultType": "complete", "content": [], "isError": False, "_meta": META}


def test_data_is_sent_as_structure_and_as_compact_text() -> None:
    assert sent({"a": [1, 2.5, None, True]}) == {
        "resultType": "complete",
        "content": text('{"a":[1,2.5,null,true]}'),
        "structuredContent": {"a": [1, 2.5, None, True]},
        "isError": False,
        "_meta": META,
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, 0),
        (False, False),
        ([], []),
        (2**63 - 1, 2**63 - 1),
        ((1, "a"), [1, "a"]),
        (Pair(1, 2), [1, 2]),
        (Point(1), {"x": 1, "y": 0.5}),
        (Person(name="A", born=date(2026, 1, 2)), {"name": "A", "born": "2026-01-02"}),
        ([Point(1), Person(name="B")], [{"x": 1, "y": 0.5}, {"name": "B", "born": None}]),
        ({"a": Colour.RED, "b": Size.SMALL, "c": Level.LOW}, {"a": "red", "b": "small", "c": 1}),
        ({Size.SMALL: 1}, {"small": 1}),
        (Decimal("0.10"), "0.10"),
        (b"\xff\x00", base64.b64encode(b"\xff\x00").decode()),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (datetime(2026, 1, 2, 3, tzinfo=UTC), "2026-01-02T03:00:00+00:00"),
        (time(3, 4), "03:04:00"),
        (timedelta(hours=36), "P1DT12H"),
        (Item().dump({"price": Decimal("1.5")}), {"price": "1.5"}),
    ],
)
def test_each_type_has_one_form(value: object, expected: object) -> None:
    """C23: what is no JSON by itself still ends in a result."""
    result = sent(value)
    assert result["structuredContent"] == expected
    shown = result["content"][0]["text"]
    assert shown == (expected if isinstance(expected, str) else orjson.dumps(expected).decode())


def test_content_blocks_are_sent_as_they_are() -> None:
    blocks = [
        Text("t", annotations={"audience": ["user"], "priority": 0.5}),
        Image(b"\x89PNG", "image/png"),
        Audio(b"RIFF", "audio/wav"),
        ResourceLink("https://a.example/x", "x", title="X", size=3, meta={"a": 1}),
        EmbeddedResource("test://a", text="hi", mime_type="text/plain"),
        EmbeddedResource("test://b", blob=b"\x00"),
    ]
    expected = [
        {"type": "text", "text": "t", "annotations": {"audience": ["user"], "priority": 0.5}},
        {"type": "image", "data": "iVBORw==", "mimeType": "image/png"},
        {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
        {
            "type": "resource_link",
            "uri": "https://a.example/x",
            "name": "x",
            "title": "X",
            "size": 3,
            "_meta": {"a": 1},
        },
        {"type": "resource", "resource": {"uri": "test://a", "mimeType": "text/plain", "text": "hi"}},
        {"type": "resource", "resource": {"uri": "test://b", "blob": "AA=="}},
    ]
    assert sent(blocks)["content"] == expected
    assert "structuredContent" not in sent(blocks)
    assert sent(blocks[1])["content"] == [expected[1]]
    assert sent(["see", blocks[1]])["content"] == [*text("see"), expected[1]]


def test_a_resource_has_either_a_text_or_a_blob() -> None:
    for both in ({}, {"text": "a", "blob": b"a"}):
        with pytest.raises(ValueError, match="either"):
            EmbeddedResource("test://a", **both)


def test_a_tool_result_says_everything_itself() -> None:
    result = sent(ToolResult(["hi", Image(b"", "image/png")], structured={"a": 1}, is_error=True))
    assert result == {
        "resultType": "complete",
        "content": [*text("hi"), {"type": "image", "data": "", "mimeType": "image/png"}],
        "structuredContent": {"a": 1},
        "isError": True,
        "_meta": META,
    }
    assert sent(ToolResult(structured=[1]))["content"] == text("[1]")
    assert "structuredContent" not in sent(ToolResult(["hi"]))


def test_a_declared_value_is_structure_and_text_of_any_json_type() -> None:
    """CALL-2, C64."""
    for returns, value, plain in ((list[int], [1, 2], [1, 2]), (int, 0, 0), (int | None, None, None)):
        result = sent(value, output(returns))
        assert result["structuredContent"] == plain
        assert result["content"] == text(orjson.dumps(plain).decode())


def test_a_tool_result_keeps_the_promise_of_its_tool_unless_it_is_an_error() -> None:
    declared = output(Point)
    shown = ToolResult(["A point"], structured=Point(1))
    assert sent(shown, declared)["structuredContent"] == {"x": 1, "y": 0.5}
    assert sent(ToolResult(["no"], is_error=True), declared)["content"] == text("no")
    for broken in (ToolResult(["A point"]), ToolResult(structured={"y": 1}), {"y": 1}, None, Text("x")):
        with pytest.raises((OutputMismatch, UnsendableValue)):
            sent(broken, declared)


class Selfish:
    """An object that JSON knows nothing of."""


def cyclic_list() -> object:
    inner: list[object] = []
    inner.append({"again": inner})
    return inner


def cyclic_point() -> object:
    point = Point(1)
    point.y = [point]  # type: ignore[assignment]
    return point


def deep() -> object:
    value: object = 1
    for _ in range(5000):
        value = [value]
    return value


def numbers() -> Iterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"a": [0, float("nan")]}, "result.a[1]"),
        (float("-inf"), "result"),
        (Decimal("NaN"), "result"),
        (Point(1, float("nan")), "result.y"),
        ("\ud800", "result"),
        ({"a": "\udfff"}, "result.a"),
        ({"\ud800": 1}, "a key of result"),
        ({1: "a"}, "result"),
        ({None: "a"}, "result"),
        ({(1, 2): "a"}, "result"),
        ({"a": {1, 2}}, "result.a"),
        (frozenset(), "result"),
        (2**63, "result"),
        ([-(2**70)], "result[0]"),
        (Selfish(), "result"),
        ([Selfish], "result[0]"),
        (numbers(), "result"),
        (numbers, "result"),
        (range(3), "result"),
        ([Text("a"), 7], "content[1]"),
        (Text("\ud800"), "content[0].text"),
        (ToolResult(structured={1}), "structured"),
        (Point, "result"),
    ],
)
def test_what_json_cannot_hold_is_refused_with_its_place(value: object, where: str) -> None:
    """C23."""
    with pytest.raises(UnsendableValue) as refused:
        sent(value)
    assert refused.value.where == where


@pytest.mark.parametrize("make", [cyclic_list, cyclic_point, deep])
def test_a_value_without_an_end_is_refused(make: Callable[[], object]) -> None:
    with pytest.raises(UnsendableValue):
        sent(make())


def test_the_same_value_twice_is_no_cycle() -> None:
    shared = {"a": 1}
    assert sent([shared, shared])["structuredContent"] == [{"a": 1}, {"a": 1}]


def test_a_value_at_the_limit_of_depth_is_sent() -> None:
    value: object = 1
    for _ in range(100):
        value = [value]
    assert sent(value)["structuredContent"] == value


def test_a_result_over_the_limit_says_both_sizes() -> None:
    """C63."""
    value = "x" * 1000
    size = len(completed(value, output(), server_info=SERVER, max_bytes=10_000))
    assert completed(value, output(), server_info=SERVER, max_bytes=size)
    with pytest.raises(ResultTooLarge) as refused:
        completed(value, output(), server_info=SERVER, max_bytes=size - 1)
    assert (refused.value.size, refused.value.max_bytes) == (size, size - 1)
    told = orjson.loads(tool_error(str(refused.value), server_info=SERVER, max_bytes=size - 1))
    assert told["isError"] is True
    assert str(size) in told["content"][0]["text"]


def test_a_tool_error_is_text_with_its_details_when_there_are_any() -> None:
    """CALL-3, C64."""
    plain = tool_error("No such file", server_info=SERVER, max_bytes=1000)
    assert orjson.loads(plain) == {
        "resultType": "complete",
        "content": text("No such file"),
        "isError": True,
        "_meta": META,
    }
    detailed = orjson.loads(tool_error("No", {"code": Decimal(7)}, server_info=SERVER, max_bytes=1000))
    assert detailed["structuredContent"] == {"code": "7"}


@pytest.mark.parametrize("structured", [{1}, float("nan"), "x" * 5000, "\ud800"])
def test_a_tool_error_can_always_be_sent(structured: object) -> None:
    told = orjson.loads(tool_error("no \ud800" + "x" * 50_000, structured, server_info=SERVER, max_bytes=1000))
    assert told["isError"] is True
    assert "structuredContent" not in told
    assert len(told["content"][0]["text"]) < 11_000


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(), max_size=5)
    | st.binary(max_size=5)
    | st.decimals()
    | st.dates()
    | st.sampled_from([Colour.RED, Level.LOW, Point(1)]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(), max_size=3) | st.integers(), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(anything)
def test_any_value_is_either_refused_or_sent_whole(value: object) -> None:
    try:
        result = sent(value)
    except UnsendableValue:
        return
    if "structuredContent" in result:
        assert result["structuredContent"] == jsonable(value)
