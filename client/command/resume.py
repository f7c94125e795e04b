"""`coatcheck resume`"""

import click
from mcp_types import CallToolResult

from coatcheck.client.command.app import App
from coatcheck.client.command.described import outcome_object
from coatcheck.client.command.exits import Exit
from coatcheck.client.command.options import with_json, with_save, with_server, with_timeout
from coatcheck.client.command.tickets import ENDED
from coatcheck.client.command.waiting import exit_of_outcome, report, wait_for, where
from coatcheck.client.deadline import Deadline
from coatcheck.client.errors import ClientError
from coatcheck.client.ledger import Entry
from coatcheck.client.sync_client import Ticket
from coatcheck.client.terminal.text import one_line

Outcome = CallToolResult | ClientError


@click.command("resume", epilog="\b\nExample:\n  coatcheck resume")
@with_json
@with_timeout
@with_save
@with_server
def command(app: App, timeout_s: float | None) -> None:
    """Go on with all open tickets of this machine: show what they do, ask what they ask, print their results.

    A call whose ticket never arrived is made again, with its idempotency key, if its arguments were kept
    (keep_arguments in the profile) and its server honours keys; else it is told how to repeat it. The exit code is the
    highest of all.
    """
    deadline = Deadline(timeout_s)
    outcomes: list[tuple[dict[str, str], str, Outcome]] = []
    tickets: list[Ticket] = []
    for entry in app.ledger.entries():
        if entry.status in ENDED:
            continue
        answer = app.ticket(entry) if entry.task_id else _repeated(app, entry, deadline)
        if isinstance(answer, Ticket):
            tickets.append(answer)
        else:
            outcomes.append(({"server": entry.server, "tool": entry.tool}, entry.tool, answer))
    waited = wait_for(app, tickets, deadline.left_s) if tickets else []
    context = click.get_current_context()
    if waited is None:
        context.exit(Exit.DETACHED)
    outcomes += [(where(ticket), ticket.tool, outcome) for ticket, outcome in zip(tickets, waited, strict=True)]
    if app.output.is_json:
        app.output.object({"tickets": [outcome_object(place, outcome) for place, _, outcome in outcomes]})
    else:
        _report(app, outcomes)
    context.exit(max((exit_of_outcome(outcome) for _, _, outcome in outcomes), default=Exit.COMPLETED))


def _repeated(app: App, entry: Entry, deadline: Deadline) -> Ticket | Outcome:
    """What the call led to that an earlier process made, and did not hear the answer of."""
    try:
        return app.client_of(entry.server).repeat(
            entry, lambda key, request: app.ask_for(entry.server, entry.tool, key, request), deadline.left_s
        )
    except ClientError as fault:
        return fault


def _report(app: App, outcomes: list[tuple[dict[str, str], str, Outcome]]) -> None:
    if not outcomes:
        app.output.note("There are no open tickets.")
    for place, tool, outcome in outcomes:
        if len(outcomes) > 1:
            app.output.note(f"--- {one_line(tool)} {place.get('taskId', '')}")
        report(app, tool, outcome)
