"""Tools that ask and end in every way that a ticket holder has to know."""

import time
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from coatcheck.workers.runs.context import Context
from coatcheck.workers.toolkit.errors import ProtocolError, ToolError
from coatcheck.workers.toolkit.inputs import Elicit, ElicitURL
from coatcheck.workers.toolkit.tool import tool


@tool(requires={"elicitation": {"form": {}}})
def fill_in(ctx: Context) -> dict[str, object]:
    """Asks for a value of every kind."""
    answer = ctx.ask(
        "everything",
        Elicit(
            "Fill in all of it.",
            {
                "name": Annotated[str, Field(title="Name", min_length=2, max_length=20)],
                "email": {"type": "string", "format": "email", "title": "E-mail"},
                "day": {"type": "string", "format": "date", "title": "Day"},
                "count": Annotated[int, Field(title="Count", ge=1, le=9)],
                "colour": Annotated[Literal["red", "green", "blue"], Field(title="Colour")],
                "sizes": Annotated[list[Literal["S", "M", "L"]] | None, Field(title="Sizes")],
                "agreed": Annotated[bool, Field(title="Agreed")],
                "note": Annotated[str | None, Field(title="Note")],
            },
        ),
    )
    return {"action": answer.action, "content": answer.content}


@tool(requires={"elicitation": {"url": {}}})
def visit(ctx: Context) -> str:
    """Asks to open a page."""
    return ctx.ask("page", ElicitURL("Sign the paper.", "https://papers.example.com/sign?id=7")).action


@tool
def refuse(ctx: Context) -> str:
    """Ends with an error of the tool."""
    raise ToolError("There is no more tea.")


@tool
def break_down(ctx: Context) -> str:
    """Ends with a JSON-RPC error."""
    raise ProtocolError(-32007, "The kettle is gone")


@tool
def loiter(ctx: Context, seconds: float) -> str:
    """Works for a while, and can be cancelled at any moment."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ctx.check_cancelled()
        time.sleep(0.05)
    return "done"


@tool(poll_interval=timedelta(minutes=5))
def tell(ctx: Context) -> str:
    """Wants to be looked at rarely."""
    ctx.progress(1, 2, "Half of it")
    time.sleep(1)
    return "told"


@tool
def count(ctx: Context, path: str) -> str:
    """Says how far of how much it has come, until there is a file."""
    ctx.progress(2, 8, "Counting")
    while not Path(path).exists():
        ctx.check_cancelled()
        time.sleep(0.05)
    return "counted"


@tool
def disguise(ctx: Context) -> str:
    """Says what a terminal would obey."""
    return "before\x1b[2J\x1b]0;owned\x07after"


@tool(mode="sync")
def await_file(ctx: Context, path: str) -> str:
    """Answers its call itself, once there is a file."""
    while not Path(path).exists():
        ctx.check_cancelled()
        time.sleep(0.05)
    return "at last"
