"""The tools that are measured; `peer_server.py` has the same for the other side."""

import time

from coatcheck import Context, Elicit, tool


@tool()
def noop() -> str:
    """Does nothing."""
    return "done"


@tool()
def large(size: int) -> str:
    """Returns a long text."""
    return "x" * size


@tool()
def keep(text: str) -> str:
    """Takes a long argument and returns a short text."""
    return text[:1]


@tool()
def stamp() -> str:
    """Works for a moment and tells when it ended, on the clock that all processes of a machine share."""
    time.sleep(0.05)
    return repr(time.monotonic())


@tool()
def ask(ctx: Context) -> str:
    """Asks once, and tells when it went on."""
    ctx.ask("go", Elicit("Go on?", {"go": bool}))
    return repr(time.monotonic())
