"""Tools that are handed secrets and treat them as tools do."""

from pydantic import BaseModel

from coatcheck import Context, Elicit, ToolError, tool


class Strict(BaseModel):
    """What does not take a text."""

    number: int


def keep(value: str) -> str:
    """What a step gives."""
    return value


@tool
def carry(ctx: Context, secret: str) -> str:
    """Carry a secret through everything that a job can do with it."""
    kept = ctx.step("kept", keep, f"step {secret}")
    answer = ctx.ask("more", Elicit("More?", {"note": str}))
    ctx.progress(1, 2, "Half way")
    return f"result {kept} {answer.content['note']}"


@tool
def choke(secret: str) -> str:
    """Raise an exception that quotes what it was given, as libraries do."""
    Strict.model_validate({"number": secret})
    return "never"


@tool
def reject(ctx: Context, secret: str) -> str:
    """Say in its own words that it cannot take a secret."""
    ctx.check_cancelled()
    raise ToolError(f"cannot take {secret}")


@tool(mode="inline")
def choke_at_once(secret: str) -> str:
    """Raise the same in the web process."""
    Strict.model_validate({"number": secret})
    return "never"
