"""`coatcheck tickets`"""

import time

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from coatcheck.client.command.described import entry_object
from coatcheck.client.command.group import IS_JSON
from coatcheck.client.errors import InvalidArguments
from coatcheck.client.ledger import SENT, TOOL_ERROR, UNKNOWN, Entry, Ledger
from coatcheck.client.settings import ledger_path
from coatcheck.client.terminal.output import TerminalOutput
from coatcheck.client.terminal.text import duration, one_line

HEADINGS = ("id", "tool", "status", "age", "server")
"""The columns of the list, on a terminal; in a pipe the same columns stand between tabs, without headings."""

EPILOG = """
\b
Examples:
  coatcheck tickets
  coatcheck tickets --open --json
  coatcheck tickets --forget 724584ca13c43b7379f191876c6e4813c
"""

ENDED = ("completed", TOOL_ERROR, "failed", "cancelled")

STATUSES = {SENT: "unanswered", TOOL_ERROR: "completed: tool error", UNKNOWN: "unknown to the server"}
"""How the list says what is no status of a task."""


@click.command("tickets", epilog=EPILOG)
@click.option("--open", "is_open", is_flag=True, help="Only those of tasks that were not seen to end.")
@click.option("--forget", "forgotten", metavar="ID", help="Forget this ticket, or the call with this idempotency key.")
@click.option("--json", "is_json", is_flag=True, help="Print one JSON object.")
def command(is_open: bool, forgotten: str | None, is_json: bool) -> None:
    """List the tickets of this machine, the oldest first. No server is asked: each status is the last seen.

    One that is "unknown" was not known to its server for whoever asked last; its ticket is kept for who may.
    Forgetting a ticket leaves its task alone.
    """
    click.get_current_context().meta[IS_JSON] = is_json
    output = TerminalOutput(is_json)
    ledger = Ledger(ledger_path())
    if forgotten is not None:
        _forget(ledger, forgotten)
    entries = [entry for entry in ledger.entries() if not (is_open and entry.status in ENDED)]
    if is_json:
        output.object({"tickets": [entry_object(entry) for entry in entries]})
        return
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        for entry in entries:
            output.lines("\t".join(_row(entry)))
        return
    if not entries:
        output.note("There are no tickets. `coatcheck call` gets one.")
        return
    table = Table(*HEADINGS, box=None, pad_edge=False)
    for entry in entries:
        table.add_row(*(Text(one_line(cell), overflow="fold") for cell in _row(entry)))
    console.print(table)


def _forget(ledger: Ledger, name: str) -> None:
    found = [entry for entry in ledger.entries() if name in (entry.task_id, entry.idempotency_key)]
    if not found:
        raise InvalidArguments(f"There is no ticket {name}, and no call with this idempotency key.")
    for entry in found:
        ledger.forget(entry.server, entry.idempotency_key)


def _row(entry: Entry) -> tuple[str, ...]:
    status = STATUSES.get(entry.status, entry.status)
    return entry.task_id or "-", entry.tool, status, duration(time.time() - entry.created_ms / 1000), entry.server
