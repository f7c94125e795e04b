"""`coatcheck call`"""

import json
import secrets
import shlex
from collections.abc import Mapping
from functools import partial
from typing import Any

import click
from mcp_types import CallToolResult

from coatcheck.client.command.app import App
from coatcheck.client.command.arguments import read_object, read_pairs
from coatcheck.client.command.described import outcome_object
from coatcheck.client.command.group import IS_JSON
from coatcheck.client.command.options import complete_tool, refuse_unsaved, with_save, with_server, with_timeout
from coatcheck.client.command.waiting import exit_of_outcome, report, wait_and_report, where
from coatcheck.client.deadline import Deadline
from coatcheck.client.errors import InputNeeded, InvalidArguments
from coatcheck.client.models import goes_on

EPILOG = """
\b
Examples:
  coatcheck call generate_report --arg source=sales --arg size=large
  coatcheck call generate_report --arg source=@table.csv --save .
  echo '{"source": "sales"}' | coatcheck call generate_report --json - --detach
  coatcheck call list_samples --json
"""


@click.command("call", epilog=EPILOG)
@click.argument("tool", shell_complete=complete_tool)
@click.option(
    "--arg", "-a", "pairs", multiple=True, metavar="NAME=VALUE", help="An argument; NAME=@FILE takes it from a file."
)
@click.option(
    "--json",
    "json_values",
    multiple=True,
    is_flag=False,
    flag_value="",
    metavar="[-|OBJECT]",
    help="All arguments as one JSON object, from standard input with -. Without a value: print one JSON object.",
)
@click.option("--wait/--detach", "is_waiting", default=True, help="Wait for the result (as is usual), or print the id.")
@click.option("--idempotency-key", default="", metavar="KEY", help="Repeat the call that had this key.")
@with_timeout
@with_save
@with_server
def command(
    app: App,
    tool: str,
    pairs: tuple[str, ...],
    json_values: tuple[str, ...],
    is_waiting: bool,
    idempotency_key: str,
    timeout_s: float | None,
) -> None:
    """Call TOOL, and wait for what it does.

    The ticket is written down before anything else, so the wait may be interrupted at any time; `coatcheck resume`
    goes on with it. A tool that answers at once, and is not done when its server has to answer, is called again by the
    command that is then shown.
    """
    deadline = Deadline(timeout_s)
    context = click.get_current_context()
    context.meta[IS_JSON] = app.output.is_json = "" in json_values
    refuse_unsaved(app.output)
    arguments = read_arguments(app, tool, pairs, [value for value in json_values if value])
    server = app.client.server
    where_called = {"server": server, "tool": tool}
    key = idempotency_key or secrets.token_hex(16)
    try:
        with app.watching():
            on_input = partial(app.ask_for, server, tool)
            answer = app.client.start(
                tool, arguments, idempotency_key=key, on_input=on_input, timeout_s=deadline.left_s
            )
    except InputNeeded as fault:
        if app.output.is_json:
            app.output.object(outcome_object(where_called, fault))
        else:
            report(app, tool, fault)
        context.exit(exit_of_outcome(fault))
    if isinstance(answer, CallToolResult):
        if app.output.is_json:
            repeated_by = {"idempotencyKey": key} if goes_on(answer) else {}
            app.output.object(outcome_object({**where_called, **repeated_by}, answer))
        else:
            report(app, tool, answer)
            if goes_on(answer):
                app.output.note(f"Call again with:\n  {typed_again(context, tool, arguments, key)}")
        context.exit(exit_of_outcome(answer))
    if is_waiting:
        app.output.note(f"Ticket {answer.task_id}")
        context.exit(wait_and_report(app, answer, deadline.left_s))
    if app.output.is_json:
        app.output.object({**where(answer), "status": "working"})
    else:
        app.output.lines(answer.task_id)


def typed_again(context: click.Context, tool: str, arguments: Mapping[str, Any], key: str) -> str:
    """The command that repeats the call, as it is typed in a shell."""
    words = ["coatcheck", "call", "--idempotency-key", key]
    for name in ("url", "profile"):
        if (value := context.params.get(name)) is not None:
            words += [f"--{name}", value]
    if arguments:
        words += ["--json", json.dumps(arguments, ensure_ascii=False)]
    return shlex.join([*words, "--", tool])


def read_arguments(app: App, tool: str, pairs: tuple[str, ...], objects: list[str]) -> dict[str, Any]:
    """The arguments, from wherever they were given."""
    if len(objects) > 1:
        raise InvalidArguments("--json takes the arguments once.")
    arguments = read_object(objects[0]) if objects else {}
    if not pairs:
        return arguments
    known = {each.name: each.input_schema for each in app.client.tools()}
    if tool not in known:
        raise InvalidArguments(f"{app.client.server} has no tool {tool}. It has: {', '.join(known)}.")
    typed = read_pairs(pairs, known[tool])
    if twice := sorted(arguments.keys() & typed.keys()):
        raise InvalidArguments(f"{', '.join(twice)}: given in --json and in --arg; an argument has one value.")
    return arguments | typed
