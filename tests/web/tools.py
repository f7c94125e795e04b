"""The tools that the tests of the front door call, besides those of the conformance suite."""

import time
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

from marshmallow import Schema, fields
from pydantic import BaseModel, Field

from coatcheck import (
    Audio,
    Context,
    Elicit,
    ElicitURL,
    EmbeddedResource,
    Header,
    Image,
    ProtocolError,
    ResourceLink,
    Sample,
    Text,
    ToolError,
    ToolResult,
    tool,
)

SECRET = "db password=hunter2"
"""Stands in an exception of an author, and must not cross the wire."""

PAUSE_S = 0.02
"""Between two looks at whether a run was cancelled."""

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "age": {"type": "integer", "minimum": 18},
        "colour": {"type": "string", "enum": ["red", "blue"]},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}, "maxItems": 2},
        "day": {"type": "string", "format": "date"},
    },
    "required": ["name", "age"],
}
"""A form with a field of every kind."""


# What a tool takes


class Colour(Enum):
    """A choice."""

    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True)
class Forecast:
    """What the weather will be like."""

    city: str
    days: int
    warm: bool


@tool(
    title="Forecast the weather",
    mode="inline",
    annotations={"readOnlyHint": True},
    icons=[{"src": "data:image/png;base64,iVBORw0KGgo=", "mimeType": "image/png"}],
    meta={"test.example/kind": "weather"},
)
def forecast(city: Annotated[str, Field(min_length=1)], days: Annotated[int, Field(ge=1, le=7)] = 3) -> Forecast:
    """Forecast the weather of a city."""
    return Forecast(city, days, warm=True)


@tool(mode="inline")
def routed(
    region: Annotated[str, Header("Region")] = "eu",
    level: Annotated[int, Header("Level")] = 1,
    dry: Annotated[bool, Header("Dry")] = False,
) -> str:
    """Take arguments that come as headers too."""
    return f"{region} {level} {dry}"


@tool(
    mode="inline",
    input={
        "type": "object",
        "properties": {
            "where": {"type": "object", "properties": {"zone": {"type": "string", "x-mcp-header": "Zone"}}},
            "ratio": {"type": ["number", "null"]},
        },
    },
)
def nested(where: dict[str, Any] | None = None, ratio: float | None = None) -> str:
    """Take an argument inside another that comes as a header too."""
    return f"{where} {ratio}"


# What a tool gives


class Price(BaseModel):
    """A model with values that JSON has no type for."""

    amount: Decimal
    day: date
    at: datetime
    colour: Colour


class PriceSchema(Schema):
    """The same, as marshmallow has it."""

    amount = fields.Decimal()
    day = fields.Date()


DAY = date(2026, 7, 28)
AT = datetime(2026, 7, 28, 12, 30, tzinfo=UTC)


@tool(mode="inline")
def priced() -> Price:
    """Give a pydantic model."""
    return Price(amount=Decimal("1.10"), day=DAY, at=AT, colour=Colour.BLUE)


@tool(mode="inline", output=PriceSchema)
def priced_by_marshmallow() -> dict[str, Any]:
    """Give what a marshmallow schema dumps."""
    return {"amount": Decimal("1.10"), "day": DAY}


def _cycle() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


def _shown() -> list[Any]:
    return [
        "a text ✓",
        Image(b"png", "image/png", annotations={"audience": ["user"]}),
        Audio(b"wav", "audio/wav"),
        ResourceLink("https://test.example/a", "a", mime_type="text/plain", size=3),
        EmbeddedResource("test://b", blob=b"b", mime_type="application/octet-stream"),
    ]


GIVEN: dict[str, Any] = {
    "text": lambda: "naïve ☃ 𝄞 \x00 \u2028",
    "nothing": lambda: None,
    "object": lambda: {"decimal": Decimal("1.10"), "day": DAY, "at": AT, "colour": Colour.RED, "bytes": b"\xff"},
    "list": lambda: [1, "two", None],
    "number": lambda: 7,
    "false": lambda: False,
    "shown": _shown,
    "told": lambda: ToolResult([Text("told")], structured={"a": 1}),
    "told_error": lambda: ToolResult(["no"], structured={"why": "x"}, is_error=True),
    "nan": lambda: {"value": float("nan")},
    "surrogate": lambda: "\ud800",
    "cycle": _cycle,
    "set": lambda: {"value": {object()}},
    "object_without_form": object,
    "huge": lambda: "x" * 3_000_000,
}


@tool(mode="sync")
def give(what: str) -> Any:
    """Give one of many things."""
    return GIVEN[what]()


@tool
def give_later(what: str) -> Any:
    """Give one of many things, in a task where there may be one."""
    return GIVEN[what]()


@tool(mode="sync", output={"type": "array", "items": {"type": "integer"}})
def promise(kind: Literal["kept", "wrong", "nothing", "error", "mishap"]) -> Any:
    """Promise an array of integers."""
    if kind == "error":
        raise ToolError("no numbers today")
    if kind == "mishap":
        raise ValueError(SECRET)
    return {"kept": [1, 2], "wrong": ["one"], "nothing": None}[kind]


@tool
def promise_later(kind: Literal["kept", "wrong"]) -> list[int]:
    """Promise an array of integers, in a task where there may be one."""
    return [1, 2] if kind == "kept" else ["one"]  # type: ignore[list-item]  # the fault that is tested


@tool
def mishap() -> str:
    """Fail as its author did not mean to."""
    raise ValueError(SECRET)


@tool(mode="sync")
def refuse(code: int) -> str:
    """Fail with a JSON-RPC error of this code."""
    raise ProtocolError(code, "refused", {"why": "test"})


@tool
def refuse_later(code: int) -> str:
    """Fail with a JSON-RPC error of this code, in a task where there may be one."""
    raise ProtocolError(code, "refused", {"why": "test"})


# How a tool runs


@tool
def leave_mark(path: str) -> str:
    """Write a file, so that a test sees that the tool ran."""
    with Path(path).open("a") as file:
        file.write("ran\n")
    return "marked"


@tool(ttl=timedelta(hours=2), poll_interval=timedelta(seconds=2))
def hold(ctx: Context, path: str, seconds: float = 60) -> str:
    """Run for long, until it is cancelled; the file says how that went."""
    with Path(path).open("a") as file:
        file.write("began\n")
        file.flush()
        try:
            _wait(ctx, seconds)
        finally:
            file.write("ended\n")
    return "held"


@tool(mode="sync")
def hold_call(ctx: Context, path: str, seconds: float = 60) -> str:
    """The same, for callers that wait."""
    return hold(ctx, path, seconds)


@tool(ttl=timedelta(seconds=2), poll_interval=timedelta(milliseconds=100))
def short_lived(ctx: Context, how: Literal["runs", "parks", "ends"]) -> str:
    """Outlive its time to live, or end at once."""
    if how == "parks":
        return ctx.ask("anything", Elicit("Anything?", {"text": str})).action
    if how == "runs":
        _wait(ctx, 60)
    return "in time"


@tool
def report(ctx: Context) -> str:
    """Report progress that repeats itself and goes back."""
    for done in (0.3, 0.3, 0.2, 1.0):
        ctx.progress(done, 1.0, f"at {done}")
        _wait(ctx, 3 * PAUSE_S)
    return "reported"


def _wait(ctx: Context, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ctx.check_cancelled()
        time.sleep(PAUSE_S)


# What a tool asks


def not_root(content: dict[str, Any]) -> None:
    """Raises ValueError for the one name that nobody may have."""
    if content["name"] == "root":
        raise ValueError("root is not a person")


@tool
def ask_person(ctx: Context) -> dict[str, Any]:
    """Ask for a person's data."""
    answer = ctx.ask("person", Elicit("Who?", PERSON))
    return {"action": answer.action, "content": answer.content}


@tool
def ask_optional(ctx: Context) -> dict[str, Any]:
    """Ask for nothing that must be given."""
    answer = ctx.ask("extra", Elicit("Anything else?", {"note": Annotated[str | None, Field(title="Note")]}))
    return {"action": answer.action, "content": answer.content}


@tool
def ask_page(ctx: Context) -> str:
    """Ask to open a page."""
    return ctx.ask("page", ElicitURL("Please sign in", "https://test.example/sign-in")).action


@tool
def ask_model(ctx: Context) -> str:
    """Ask the client's model."""
    return ctx.ask("model", Sample("Say something", max_tokens=10)).text


@tool
def ask_again(ctx: Context) -> list[str]:
    """Ask the same thing three times."""
    return [ctx.ask("word", Elicit(f"Word {n}?", {"text": str})).content["text"] for n in (1, 2, 3)]


@tool
def ask_checked(ctx: Context) -> str:
    """Ask for a name that its author checks."""
    return str(ctx.ask("name", Elicit("Who?", {"name": str}, validate=not_root)).content["name"])


SIZE = Elicit("Which size?", {"size": Literal["small", "large"]})
BUYER = Elicit("Who pays?", {"name": str}, validate=not_root)


@tool(ask_first={"size": SIZE, "buyer": BUYER})
def order(ctx: Context, item: str) -> str:
    """Ask for size and buyer first, then order in a task."""
    answers = ctx.ask_all({"size": SIZE, "buyer": BUYER})
    return f"{answers['size'].content['size']} {item} for {answers['buyer'].content['name']}"
