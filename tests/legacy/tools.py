"""The tools that the tests of the older era call, besides those of the front door's and the suite's."""

from typing import Annotated, Any, Literal

from pydantic import Field

from coatcheck import Context, Elicit, Sample, tool

CHOICES: dict[str, Any] = {
    "type": "object",
    "properties": {
        "size": {
            "type": "string",
            "title": "Size",
            "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}],
            "default": "s",
        },
        "gift": {"type": "boolean", "default": True},
        "number": {"type": "integer", "minimum": 1, "default": 1},
    },
    "required": ["size"],
}
"""A form with what the older revisions write otherwise."""

SEVERAL: dict[str, Any] = {
    "type": "object",
    "properties": {"tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}},
}
"""A form that only the newest of them knows."""


@tool
def choose(ctx: Context, how: Literal["one", "several"] = "one") -> dict[str, Any]:
    """Ask for a choice."""
    answer = ctx.ask("choice", Elicit("Which one?", CHOICES if how == "one" else SEVERAL))
    return {"action": answer.action, "content": answer.content}


@tool
def converse(ctx: Context) -> str:
    """Ask the client's model with a message of two blocks."""
    blocks = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    return ctx.ask("talk", Sample([{"role": "user", "content": blocks}], max_tokens=10)).text


@tool(mode="inline", output={"type": "array", "items": {"type": "integer"}})
def numbers(most: Annotated[int, Field(ge=0)] = 2) -> list[int]:
    """Give an array, which no older result holds as a structure."""
    return list(range(most))


@tool(title="A titled tool", meta={"test.example/kind": "x"})
def two_at_once(ctx: Context) -> str:
    """Ask two things at the same time."""
    forms = {key: Elicit(f"The {key} word?", {"text": str}) for key in ("first", "second")}
    return " ".join(answer.content["text"] for answer in ctx.ask_all(forms).values())
