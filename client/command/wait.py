"""`coatcheck wait`"""

import click

from coatcheck.client.command.app import App
from coatcheck.client.command.options import complete_ticket, with_json, with_save, with_server, with_timeout
from coatcheck.client.command.waiting import wait_and_report

EPILOG = "\b\nExamples:\n  coatcheck wait 724584ca\n  coatcheck wait 724584ca --save . > report.md"


@click.command("wait", epilog=EPILOG)
@click.argument("task_id", metavar="ID", shell_complete=complete_ticket)
@with_json
@with_timeout
@with_save
@with_server
def command(app: App, task_id: str, timeout_s: float | None) -> None:
    """Wait for the task ID, and print its result; one that has ended is printed at once.

    What the task asks meanwhile is shown as a form. Ctrl-C ends the wait and not the task. A server that is away is
    waited for if it was ever there: it has answered this wait, or it gave the ticket.
    """
    click.get_current_context().exit(wait_and_report(app, app.find(task_id), timeout_s))
