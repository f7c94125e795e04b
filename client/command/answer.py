"""`coatcheck answer`"""

import click
from mcp_types import ElicitResult, InputRequest, InputResponse
from pydantic import ValidationError

from coatcheck.client.answers import accept, cancel, decline
from coatcheck.client.command.app import App
from coatcheck.client.command.arguments import read_object
from coatcheck.client.command.options import complete_ticket, with_json, with_server
from coatcheck.client.command.waiting import where
from coatcheck.client.errors import InputNeeded, InvalidArguments, NothingAsked
from coatcheck.client.sync_client import Ticket

EPILOG = """
\b
Examples:
  coatcheck answer 724584ca
  coatcheck answer 724584ca approve_outline --accept '{"approved": true}'
  coatcheck answer 724584ca when --decline
"""


@click.command("answer", epilog=EPILOG)
@click.argument("task_id", metavar="ID", shell_complete=complete_ticket)
@click.argument("key", required=False)
@click.option("--accept", "content", metavar="OBJECT", help="The form, filled in, as a JSON object; - reads it.")
@click.option("--decline", "is_declined", is_flag=True, help="Say no.")
@click.option("--cancel", "is_cancelled", is_flag=True, help="Leave the question without a choice.")
@with_json
@with_server
def command(
    app: App, task_id: str, key: str | None, content: str | None, is_declined: bool, is_cancelled: bool
) -> None:
    """Answer what the task ID asks: all of it, or the one question KEY.

    Without an answer on the command line, the questions are shown as forms.
    """
    if (content is not None) + is_declined + is_cancelled > 1:
        raise InvalidArguments("Choose one of --accept, --decline and --cancel.")
    ticket = app.find(task_id)
    asked = dict(ticket.outstanding())
    if not asked or (key is not None and key not in asked):
        raise NothingAsked(key or "", asked)
    if key is not None:
        asked = {key: asked[key]}
    responses: dict[str, InputResponse] = {}
    if content is not None:
        responses = {_only(asked): _accepted(content)}
    elif is_declined or is_cancelled:
        responses = {_only(asked): decline() if is_declined else cancel()}
    if responses:
        ticket.answer_all(responses)
    else:
        responses = _ask(app, ticket, asked)
    if app.output.is_json:
        app.output.object({**where(ticket), "answered": list(responses)})
    else:
        app.output.note(f"Answered: {', '.join(responses)}.")


def _ask(app: App, ticket: Ticket, asked: dict[str, InputRequest]) -> dict[str, InputResponse]:
    """Each answer was sent as soon as it was given, so that none is lost with the next question."""
    responses: dict[str, InputResponse] = {}
    for key, request in asked.items():
        if (response := app.ask(ticket, key, request)) is None:
            raise InputNeeded(ticket.task_id, {name: asked[name] for name in asked if name not in responses})
        ticket.answer(key, response)
        responses[key] = response
    return responses


def _accepted(content: str) -> ElicitResult:
    try:
        return accept(**read_object(content))
    except ValidationError as fault:
        raise InvalidArguments("A form holds text, numbers, true and false, and lists of text.") from fault


def _only(asked: dict[str, InputRequest]) -> str:
    if len(asked) > 1:
        raise InvalidArguments(f"The task asks for {', '.join(asked)}; say which one is answered.")
    return next(iter(asked))
