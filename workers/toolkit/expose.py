"""Offers a Celery task of another application as a tool, by name."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, TypedDict, Unpack

from coatcheck.workers.toolkit.errors import ToolDefinitionError
from coatcheck.workers.toolkit.tool import Exposed, Mode, Tool, described_tool, exposed_by

THEIR_QUEUE: Final = "celery"
"""The queue of a Celery application that names none."""


class Options(TypedDict, total=False):
    """How an exposed task is offered; each as for `@tool`, unless it says otherwise."""

    name: str
    """The task's own, unless given."""
    title: str
    description: str
    input: object
    """Without it, any arguments are taken."""
    output: object
    queue: str
    """The queue that their worker listens to."""
    mode: Mode
    """Anything but inline."""
    ttl: timedelta
    poll_interval: timedelta
    time_limit: timedelta
    """How long the task may take from the hand-over on, waiting in their queue included."""
    terminate: bool
    requires: Mapping[str, Any]
    scopes: Sequence[str]
    annotations: Mapping[str, Any]
    icons: Sequence[Mapping[str, Any]]
    meta: Mapping[str, Any]


def expose(task: str, **options: Unpack[Options]) -> Tool:
    """The Celery task of this name is a tool of the module that calls this; its own worker runs it, as it is.

    The arguments of a call become the task's keyword arguments, in JSON's types.

    Raises:
        ToolDefinitionError: it cannot be offered like this.
    """
    # As a function with @tool is its module's, so is this: there is no registry.
    return exposed_by(sys._getframe(1).f_globals, exposed_tool(task, **options))


def exposed_tool(task: str, **options: Unpack[Options]) -> Tool:
    """What `expose` makes of the same; it belongs to no module."""
    given: dict[str, Any] = {
        "name": task,
        "description": options.get("title") or f"Runs the Celery task {task}.",
        **options,
    }
    queue = given.pop("queue", THEIR_QUEUE)
    if given.get("mode") == "inline":
        raise ToolDefinitionError(given["name"], "an exposed task is run by its own worker, so never inline")
    return replace(described_tool(**given), exposed=Exposed(task, queue))
