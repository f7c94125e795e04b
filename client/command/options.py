"""Options that several subcommands have."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from coatcheck.client.command.app import App
from coatcheck.client.command.group import IS_JSON
from coatcheck.client.errors import InvalidArguments, LedgerError
from coatcheck.client.ledger import Entry, Ledger
from coatcheck.client.settings import ledger_path, load_settings
from coatcheck.client.terminal.output import TerminalOutput

Command = Callable[..., Any]


def with_server(command: Command) -> Command:
    """The command gets an App as its first argument, and the options that choose the server."""

    @click.option("--url", metavar="URL", help="The server; else COATCHECK_URL, or the profile.")
    @click.option("--profile", metavar="NAME", help="A profile of profiles.toml; else COATCHECK_PROFILE.")
    @wraps(command)
    def run(url: str | None, profile: str | None, **options: Any) -> Any:
        is_json = bool(options.pop("is_json", False))
        click.get_current_context().meta[IS_JSON] = is_json
        with App(load_settings(url, profile), TerminalOutput(is_json, options.pop("save", None))) as app:
            refuse_unsaved(app.output)
            return command(app, **options)

    return run


def refuse_unsaved(output: TerminalOutput) -> None:
    """Raise InvalidArguments when binary content shall be saved and would not be, before anything is sent."""
    if output.is_json and output.save is not None:
        raise InvalidArguments("With --json the result has its binary content in it; leave out --save, or --json.")


def _made(_ctx: click.Context, _parameter: click.Parameter, folder: Path | None) -> Path | None:
    """The folder is there before the work begins: some results are given once."""
    try:
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise click.BadParameter(f"{folder} cannot be made: {fault.strerror}.") from fault
    return folder


with_json = click.option("--json", "is_json", is_flag=True, help="Print one JSON object.")

with_save = click.option(
    "--save",
    metavar="DIR",
    type=click.Path(file_okay=False, writable=True, path_type=Path),
    callback=_made,
    help="Write images and other binary content of the result into this folder.",
)


with_timeout = click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Wait no longer. The work goes on, and the exit code is 130, or 6 when the server does not answer.",
)


def complete_ticket(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """The ids in the ledger that begin with what was typed."""
    return [entry.task_id for entry in _entries() if entry.task_id.startswith(incomplete)]


def complete_tool(_ctx: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """The tools that were called from here; nothing is asked of a server while somebody types."""
    return sorted({entry.tool for entry in _entries() if entry.tool.startswith(incomplete)})


def _entries() -> list[Entry]:
    """What the ledger holds; nothing when it cannot be read, since nobody wants to hear of that while typing."""
    try:
        return Ledger(ledger_path()).entries()
    except LedgerError:
        return []
