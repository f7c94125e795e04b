"""The tools whose tasks the companions are asked about."""

import time
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from coatcheck import Context, Elicit, ElicitURL, ProtocolError, Roots, Sample, ToolError, tool


@tool
def greet(name: str) -> dict[str, str]:
    """Say hello."""
    return {"said": f"hello {name}"}


@tool
def say(what: str) -> str:
    """Say it."""
    return what


@tool
def refuse(how: Literal["tool", "protocol"]) -> str:
    """Fail, in one way or the other."""
    if how == "tool":
        raise ToolError("not today")
    raise ProtocolError(-32000 - 1000, "never", {"why": "test"})


@tool(poll_interval=timedelta(seconds=3))
def until_there(ctx: Context, path: str) -> str:
    """Work until there is such a file, and tell what is in it."""
    ctx.progress(1, 2, "Half of it")
    while not Path(path).exists():
        ctx.check_cancelled()
        time.sleep(0.02)
    return Path(path).read_text()


@tool
def confirm(ctx: Context, what: str) -> str:
    """Ask before saying so."""
    answer = ctx.ask("sure", Elicit(f"Sure about {what}?", {"yes": bool}))
    return f"{what}: {answer.action} {dict(answer.content)}"


def not_root(content: dict[str, Any]) -> None:
    """Raises ValueError for the one name that nobody may have."""
    if content["name"] == "root":
        raise ValueError("root is not a person")


PERSON = {
    "name": Annotated[str, Field(min_length=1, max_length=40, title="Your name")],
    "age": Annotated[int, Field(ge=18)],
    "size": Literal["small", "large"],
}


@tool
def ask_all(ctx: Context) -> str:
    """Ask in every way at once."""
    answers = ctx.ask_all(
        {
            "person": Elicit("Who are you?", PERSON, validate=not_root),
            "page": ElicitURL("Please sign in", "https://test.example/sign-in"),
            "model": Sample("Say something", max_tokens=10),
            "folders": Roots(),
        }
    )
    name = answers["person"].content["name"]
    return f"{name} {answers['page'].action} {answers['model'].text} {answers['folders'].roots}"


@tool(scopes=("secrets",))
def secret(ctx: Context) -> str:
    """Tell what not everybody may know."""
    return ctx.ask("word", Elicit("The word?", {"word": str})).content["word"] + " is right"
