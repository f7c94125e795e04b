"""`coatcheck tools`"""

import re

import click

from coatcheck.client.command.app import App
from coatcheck.client.command.described import wire
from coatcheck.client.command.options import with_json, with_server
from coatcheck.client.terminal.text import one_line, safe


@click.command("tools", epilog="\b\nExamples:\n  coatcheck tools\n  coatcheck tools generate_report")
@click.argument("name", required=False)
@with_json
@with_server
def command(app: App, name: str | None) -> None:
    """Show what can be called; with the NAME of a tool, all about it."""
    tools = app.client.tools()
    if name is not None:
        tools = [tool for tool in tools if tool.name == name]
        if not tools:
            raise click.BadParameter(f"{app.client.server} has no tool {name}.", param_hint="NAME")
    if app.output.is_json:
        app.output.object({"tools": [wire(tool) for tool in tools]})
        return
    for tool in tools:
        properties = tool.input_schema.get("properties")
        required = tool.input_schema.get("required")
        properties = properties if isinstance(properties, dict) else {}
        required = required if isinstance(required, list) else []
        signature = [key if key in required else f"[{key}]" for key in properties]
        app.output.heading(" ".join([tool.name, *signature]))
        description = safe(tool.description or tool.title or "").strip()
        if name is None:
            app.output.lines(f"  {first_sentence(description)}")
            continue
        app.output.lines(f"\n{description}\n")
        for key, rules in properties.items():
            app.output.lines(f"  {key}{'' if key in required else ' (optional)'}: {described(rules)}")


def first_sentence(text: str) -> str:
    """Return the first sentence on one line, without its full stop. None ends inside a word."""
    return one_line(re.split(r"\.(?:\s+(?![a-z])|\s*$)|\n\s*\n", text, maxsplit=1)[0])


def described(rules: object) -> str:
    """What an argument may be, in a line."""
    if not isinstance(rules, dict):
        return "anything"
    choices = rules.get("enum")
    kind = " or ".join(map(str, choices)) if isinstance(choices, list) else str(rules.get("type", "any JSON value"))
    default = f", {rules['default']!r} when left out" if "default" in rules else ""
    text = one_line(str(rules.get("description", "")))
    return f"{kind}{default}{'. ' + text if text else ''}"
