"""The tools that callers with and without leave call."""

from datetime import timedelta

from coatcheck import Context, Elicit, tool


@tool
def whoami(ctx: Context) -> str:
    """Say whose task this is."""
    return f"{ctx.owner.tenant}/{ctx.owner.principal}"


@tool(ttl=timedelta(minutes=5))
def confirm(ctx: Context, what: str) -> str:
    """Ask before saying so."""
    answer = ctx.ask("sure", Elicit(f"Sure about {what}?", {"yes": bool}))
    return f"{what}: {answer.content}"


@tool(scopes=("reports:read", "reports:write"))
def secret_report(ctx: Context) -> str:
    """Tell what not everybody may know."""
    ctx.check_cancelled()
    return "secret"


@tool(mode="inline", scopes=("reports:read",))
def peek() -> str:
    """Tell a little of it."""
    return "peeked"


@tool(mode="inline")
def greet() -> str:
    """Tell everybody."""
    return "hello"
