"""Tasks that wait for input, and the answers that people give."""

from typing import Any

from tests.support.client import Client
from tests.web.door import SERVER_INFO

Json = dict[str, Any]

ACKNOWLEDGED = {"resultType": "complete", "_meta": SERVER_INFO}
"""The result of an update and of a cancel."""

ANN: Json = {"name": "Ann", "age": 20}
"""What the form of `ask_person` must have."""


def accept(content: object) -> Json:
    """The answer of a person who filled in the form."""
    return {"action": "accept", "content": content}


def parked(client: Client, tool: str, arguments: Json | None = None) -> Json:
    """A task that waits for input."""
    return client.wait_for(client.start(tool, arguments), "input_required")
