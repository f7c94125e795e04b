"""`coatcheck cancel`"""

import click

from coatcheck.client.command.app import App
from coatcheck.client.command.options import complete_ticket, with_json, with_server
from coatcheck.client.command.waiting import where


@click.command("cancel", epilog="\b\nExample:\n  coatcheck cancel 724584ca")
@click.argument("task_id", metavar="ID", shell_complete=complete_ticket)
@with_json
@with_server
def command(app: App, task_id: str) -> None:
    """Ask the task ID to end. It does at the latest with its current step; one that has ended stays as it is."""
    ticket = app.find(task_id)
    ticket.cancel()
    if app.output.is_json:
        app.output.object({**where(ticket), "cancelRequested": True})
    else:
        app.output.note(f"Task {ticket.task_id} was asked to end.")
