"""Waits for tasks, and prints what came of them."""

import time
from collections.abc import Sequence
from typing import Final

import click
from mcp_types import CallToolResult, ElicitRequest, ElicitRequestFormParams, ElicitRequestURLParams, InputRequest

from coatcheck.client.command.app import App
from coatcheck.client.command.described import outcome_object
from coatcheck.client.command.exits import Exit, exit_of
from coatcheck.client.errors import ClientError, InputNeeded, typed
from coatcheck.client.sync_client import Ticket, wait_all
from coatcheck.client.terminal.fields import fields_of
from coatcheck.client.terminal.text import one_line, safe

SECOND_THOUGHT_S: Final = 2.0
"""How long a second Ctrl-C is waited for after the first."""


def wait_for(app: App, tickets: Sequence[Ticket], timeout_s: float | None) -> list[CallToolResult | ClientError] | None:
    """What came of each task, or None when the wait was interrupted, which has been explained."""
    try:
        with app.watching():
            outcomes = wait_all(
                tickets,
                on_input=app.ask,
                on_status=lambda ticket, task: app.progress.see(ticket.tool, task),
                timeout_s=timeout_s,
            )
    except KeyboardInterrupt:
        _detach(app, tickets)
        return None
    known: list[CallToolResult | ClientError] = []
    for outcome in outcomes:
        if isinstance(outcome, Exception) and not isinstance(outcome, ClientError):
            raise outcome
        known.append(outcome)
    return known


def wait_and_report(app: App, ticket: Ticket, timeout_s: float | None) -> Exit:
    """The task's result, or why there is none, has been printed; the exit code says which."""
    outcomes = wait_for(app, [ticket], timeout_s)
    if outcomes is None:
        return Exit.DETACHED
    (outcome,) = outcomes
    if app.output.is_json:
        app.output.object(outcome_object(where(ticket), outcome))
    else:
        report(app, ticket.tool, outcome)
    return exit_of_outcome(outcome)


def report(app: App, tool: str, outcome: CallToolResult | ClientError) -> None:
    """What came of a call, for people."""
    if isinstance(outcome, CallToolResult):
        app.output.result(tool, outcome)
    elif isinstance(outcome, InputNeeded):
        for key, request in outcome.requests.items():
            app.output.note(described_request(key, request))
        app.output.note(str(outcome))
    else:
        app.output.note(str(outcome))


def exit_of_outcome(outcome: CallToolResult | ClientError) -> Exit:
    """What the exit code is after this."""
    if isinstance(outcome, ClientError):
        return exit_of(outcome)
    return Exit.TOOL_ERROR if outcome.is_error else Exit.COMPLETED


def where(ticket: Ticket) -> dict[str, str]:
    """Which task it is, as JSON says it."""
    tool = {"tool": ticket.tool} if ticket.tool else {}
    return {"server": ticket.server, **tool, "taskId": ticket.task_id}


def described_request(key: str, request: InputRequest) -> str:
    """What is asked, in lines that also tell how an answer looks."""
    if not isinstance(request, ElicitRequest):
        return f"{key}: {request.method}"
    lines = [f"{one_line(key)}: {safe(request.params.message)}"]
    if isinstance(request.params, ElicitRequestURLParams):
        lines.append(f"  {one_line(request.params.url)}")
    elif isinstance(request.params, ElicitRequestFormParams):
        for field in fields_of(request.params.requested_schema):
            values = ", ".join(choice.value for choice in field.choices)
            hint = "; ".join(part for part in (values, field.hint) if part)
            lines.append(f"  {field.name} ({field.kind}{': ' + hint if hint else ''})")
    return "\n".join(lines)


def _detach(app: App, tickets: Sequence[Ticket]) -> None:
    """The person knows how to come back; or has, with a second Ctrl-C, been offered to cancel."""
    (first, *others) = tickets
    how = "coatcheck resume" if others else f"coatcheck wait {typed(first.task_id)}"
    app.output.note(f"Detached; the work goes on. Come back with:\n  {how}")
    if not app.is_interactive:
        return
    what = "all of it" if others else "it"
    app.output.note(f"Ctrl-C again to cancel {what} instead.")
    try:
        time.sleep(SECOND_THOUGHT_S)
    except KeyboardInterrupt:
        if click.confirm(f"\nCancel {what}?", err=True):
            for ticket in tickets:
                ticket.cancel()
            app.output.note("Cancelled, at the latest with the current step.")
