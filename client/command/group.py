"""The command's entry point: finds the subcommand, and turns every error into a sentence and an exit code."""

import logging
import os
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Any, Final

import click

from coatcheck.client.command.exits import Exit, exit_of
from coatcheck.client.errors import ClientError, LedgerDamaged
from coatcheck.client.terminal.text import safe
from coatcheck.client.version import client_version

COMMANDS: Final = {
    "tools": "Show what can be called.",
    "call": "Call a tool, and wait for what it does.",
    "status": "Show how a task stands.",
    "wait": "Wait for a task, and print its result.",
    "answer": "Answer what a task asks.",
    "cancel": "Ask a task to end.",
    "tickets": "List the tickets of this machine.",
    "resume": "Go on with all open tickets of this machine.",
    "discover": "Show what a server says of itself.",
    "doctor": "Find out why it does not work.",
    "init": "Begin a project with a first tool.",
    "run": "Start everything on this machine.",
    "web": "Serve the MCP endpoint.",
    "worker": "Run tools.",
    "flower": "Show workers and runs in Flower.",
    "expose": "Offer the tasks of a Celery application as tools.",
    "check": "Try every part of a deployment, from where it runs.",
    "token": "Make a token for a server that keeps a list of them.",
    "stdio": "Be an MCP server on standard input and output.",
    "completion": "Print the completion script of a shell.",
}
"""Subcommand and what it does, in the order of the help. Each is the `command` of the module of its name."""

IS_JSON: Final = "coatcheck.is_json"
"""Where click keeps whether this run answers in JSON."""

EPILOG = """
\b
Examples:
  coatcheck tools
  coatcheck call generate_report --arg source=sales
  coatcheck call generate_report --arg source=@table.csv --detach
  coatcheck resume

\b
Environment:
  COATCHECK_URL      the server, by default the one that `make run` runs here
  COATCHECK_TOKEN    the bearer token for it
  COATCHECK_PROFILE  a profile of profiles.toml instead of both
  COATCHECK_LEDGER   the file that holds the tickets

\b
Exit codes:
  0  completed        4  cancelled
  1  tool error       5  input needed
  2  usage            6  unreachable
  3  failed         130  interrupted; the task goes on
"""


class Commands(click.Group):
    """Imports a subcommand when it is used: help and completion do without the SDK, which takes a second to load."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The subcommands, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The subcommand, imported."""
        if cmd_name not in COMMANDS:
            return None
        try:
            command = import_module(f"coatcheck.client.command.{cmd_name}").command
        except ModuleNotFoundError as fault:
            raise click.UsageError(f"{fault.name} is not installed: pip install 'coatcheck[cli]'", ctx) from fault
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the subcommands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Every argument is text; a byte that is none would fail wherever it is first written or sent."""
        for number, argument in enumerate(args, 1):
            try:
                argument.encode()
            except UnicodeEncodeError:
                raise click.UsageError(f"Argument {number} holds bytes that are not UTF-8 text.", ctx) from None
        return super().parse_args(ctx, args)

    def main(self, *arguments: Any, **named: Any) -> Any:
        """As click does, but output that cannot be written is told like any other fault."""
        try:
            return super().main(*arguments, **named)
        except OSError as fault:
            with suppress(OSError):
                what = fault.filename or "The output"
                click.secho(safe(f"{what} cannot be used: {fault.strerror or fault}."), err=True, fg="red")
            _give_up_output()
            sys.exit(Exit.USAGE)

    def invoke(self, ctx: click.Context) -> Any:
        """The subcommand ran; an error of the client has become a sentence, or a JSON object, and an exit code."""
        try:
            return super().invoke(ctx)
        except ClientError as fault:
            if ctx.meta.get(IS_JSON):
                click.echo(import_module("coatcheck.client.command.described").fault_line(fault))
            else:
                click.secho(safe(str(fault)), err=True, fg="red")
            ctx.exit(exit_of(fault))
        except (KeyboardInterrupt, click.Abort):  # the latter is Ctrl-C, or Ctrl-D, at a question of click's
            click.echo(err=True)
            ctx.exit(Exit.DETACHED)


@click.group(cls=Commands, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(client_version(), prog_name="coatcheck")
def cli() -> None:
    """Hand the work over, keep the ticket.

    Calls the tools of an MCP server whose work may take long, and keeps the tickets of what they do: a task is found
    again after a crash, a restart or a holiday, and asks you when it needs you.
    """


def main() -> None:
    """The process ends with the command's exit code."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # closed by whoever started the process
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - for as long as the process lives
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what the terminal's encoding lacks is shown, not raised
    logging.getLogger().addHandler(logging.NullHandler())  # the errors say what libraries would log
    warnings.simplefilter("ignore")
    warnings.simplefilter("always", LedgerDamaged)
    warnings.showwarning = _show_warning
    cli(prog_name="coatcheck", color=False if os.environ.get("NO_COLOR") else None)


def _give_up_output() -> None:
    """What is still buffered goes nowhere, so that the end of the process does not stumble over it once more."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except OSError:
                os.dup2(nowhere, stream.fileno())


def _show_warning(message: Warning | str, *_where: object, **_more: object) -> None:
    click.secho(safe(str(message)), err=True, fg="yellow")
