"""`coatcheck status`"""

import click

from coatcheck.client.command.app import App
from coatcheck.client.command.described import task_object
from coatcheck.client.command.exits import Exit
from coatcheck.client.command.options import complete_ticket, with_json, with_server
from coatcheck.client.command.waiting import described_request, where
from coatcheck.client.errors import typed
from coatcheck.client.models import Task
from coatcheck.client.terminal.text import one_line

EPILOG = "\b\nExamples:\n  coatcheck status 724584ca\n  coatcheck status 724584ca --json"


@click.command("status", epilog=EPILOG)
@click.argument("task_id", metavar="ID", shell_complete=complete_ticket)
@with_json
@with_server
def command(app: App, task_id: str) -> None:
    """Show how the task ID stands; the beginning of an id will do.

    The exit code tells too: 0 while it works and when it is completed, 1 for a tool error, 3 failed, 4 cancelled,
    5 input needed.
    """
    ticket = app.find(task_id)
    task = ticket.status()
    if app.output.is_json:
        app.output.object(task_object(where(ticket), task))
    else:
        message = one_line(task.status_message or "")
        app.output.lines(f"{ticket.task_id} {task.status}{': ' + message if message else ''}")
        for key, request in (task.input_requests or {}).items():
            app.output.lines(described_request(key, request))
        if task.input_requests:
            app.output.note(f"Answer with:\n  coatcheck answer {typed(ticket.task_id)}")
        elif task.status == "completed":
            app.output.note(f"Print the result with:\n  coatcheck wait {typed(ticket.task_id)}")
        elif task.error is not None:
            app.output.lines(f"{one_line(task.error.message)} ({task.error.code})")
    click.get_current_context().exit(exit_of_status(task))


def exit_of_status(task: Task) -> Exit:
    """The exit code that tells the status."""
    if task.has_tool_error:
        return Exit.TOOL_ERROR
    return {
        "failed": Exit.FAILED,
        "cancelled": Exit.CANCELLED,
        "input_required": Exit.INPUT_NEEDED,
    }.get(task.status, Exit.COMPLETED)
