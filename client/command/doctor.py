"""`coatcheck doctor`"""

from collections.abc import Callable

import click

from coatcheck.client.command.app import App
from coatcheck.client.command.described import fault_object
from coatcheck.client.command.exits import Exit, exit_of
from coatcheck.client.command.options import with_json, with_server
from coatcheck.client.errors import ClientError, TasksNotOffered
from coatcheck.client.models import TASKS
from coatcheck.client.terminal.text import counted


@click.command("doctor", epilog="\b\nExample:\n  coatcheck doctor --profile work")
@with_json
@with_server
def command(app: App) -> None:
    """Find out why it does not work: each thing that has to be right is looked at, and what is wrong is told."""
    checks: tuple[tuple[str, Callable[[App], str]], ...] = (
        ("ledger", _ledger),
        ("server", _server),
        ("tasks", _tasks),
        ("tools", _tools),
    )
    found: dict[str, dict[str, object]] = {}
    worst = Exit.COMPLETED
    for name, check in checks:
        try:
            found[name] = {"ok": True, "message": check(app)}
        except ClientError as fault:
            found[name] = {"ok": False, **fault_object(fault), "message": str(fault)}
            worst = max(worst, exit_of(fault))
        if not app.output.is_json:
            app.output.lines(f"{'ok' if found[name]['ok'] else 'wrong':5} {name}: {found[name]['message']}")
        if name == "server" and not found[name]["ok"]:
            break  # the rest would say the same again
    if app.output.is_json:
        app.output.object({"checks": found})
    click.get_current_context().exit(worst)


def _ledger(app: App) -> str:
    return f"{app.ledger.path} holds {counted(len(app.ledger.entries()), 'ticket')}."


def _server(app: App) -> str:
    token = "with a token" if app.settings.chosen.token else "without a token"
    versions = ", ".join(app.client.discover().supported_versions)
    return f"{app.client.server} answers ({token}) and speaks {versions}."


def _tasks(app: App) -> str:
    if TASKS not in (app.client.discover().capabilities.extensions or {}):
        raise TasksNotOffered(app.client.server)
    return "The server offers tasks."


def _tools(app: App) -> str:
    return f"{counted(len(app.client.tools()), 'tool')} can be called."
