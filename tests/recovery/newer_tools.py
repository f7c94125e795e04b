"""The next version of a tool: what it asks for has changed since its tasks were parked."""

from coatcheck import Context, Elicit, tool


@tool()
def ask_one(ctx: Context) -> str:
    """Asks for a name and an age."""
    answer = ctx.ask("name", Elicit("Your name and age?", {"name": str, "age": int}))
    return f"Hello, {answer.content['name']}, of {answer.content.get('age', 'unknown')} age!"
