"""Expose a Celery task of another application as a tool, by name."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, TypedDict, Unpack

from coatcheck.workers.toolkit.errors import ToolDefinitionError
from coatcheck.workers.toolkit.tool import Exposed, Mode, Tool, described_tool, exposed_by

THEIR_QUEUE: Final = "celery"
"""Celery's default queue."""


class Options(TypedDict, total=False):
    """Options of an exposed task: those of `@tool`, with these differences."""

    name: str
    """The default is the name of the Celery task."""
    title: str
    description: str
    input: object
    """Without it, the tool accepts any arguments."""
    output: object
    queue: str
    """The queue that the other application's worker consumes."""
    mode: Mode
    """Any mode except inline."""
    ttl: timedelta
    poll_interval: timedelta
    time_limit: timedelta
    """The longest time from the delegation to the end, including the time in the queue."""
    terminate: bool
    requires: Mapping[str, Any]
    scopes: Sequence[str]
    annotations: Mapping[str, Any]
    icons: Sequence[Mapping[str, Any]]
    meta: Mapping[str, Any]


def expose(task: str, **options: Unpack[Options]) -> Tool:
    """Make a tool of the Celery task with this name, in the module that calls this. Its own worker runs it, unchanged.

    The arguments of a call become the task's keyword arguments, as JSON types.

    Raises:
        ToolDefinitionError: the definition is not valid.
    """
    # There is no registry: like a function with @tool, an exposed task belongs to the module that defines it.
    return exposed_by(sys._getframe(1).f_globals, exposed_tool(task, **options))


def exposed_tool(task: str, **options: Unpack[Options]) -> Tool:
    """Return the tool that `expose` makes, without adding it to a module."""
    given: dict[str, Any] = {
        "name": task,
        "description": options.get("title") or f"Runs the Celery task {task}.",
        **options,
    }
    queue = given.pop("queue", THEIR_QUEUE)
    if given.get("mode") == "inline":
        raise ToolDefinitionError(given["name"], "an exposed task is run by its own worker, so never inline")
    return replace(described_tool(**given), exposed=Exposed(task, queue))
