"""Read exposed Celery tasks from a TOML file, for a deployment without Python code.

    [[expose]]
    task = "billing.close_month"
    title = "Close a month"
    description = "Closes the books of a month."
    queue = "billing"
    time_limit_seconds = 3600
    input.type = "object"
    input.required = ["month"]
    input.properties.month = { type = "string", pattern = "^[0-9]{4}-[0-9]{2}$" }

The keys are those of `Options` in `expose.py`. Durations end in `_seconds`; `input` and `output` are JSON Schemas.
"""

import tomllib
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from coatcheck.tasks_store import text_of
from coatcheck.workers.toolkit.errors import ToolDefinitionError, ToolFileError
from coatcheck.workers.toolkit.expose import Options, exposed_tool
from coatcheck.workers.toolkit.tool import Tool

_DURATIONS: Final = {f"{name}_seconds": name for name in ("ttl", "poll_interval", "time_limit")}

_TYPES: Final[Mapping[str, type]] = {
    **dict.fromkeys(("task", "name", "title", "description", "queue", "mode"), str),
    **dict.fromkeys(("input", "output", "requires", "annotations", "meta"), dict),
    **dict.fromkeys(("scopes", "icons"), list),
    "terminate": bool,
}
"""The type of each other key."""


def exposed_in(path: str) -> list[Tool]:
    """Return the tools that the file describes.

    Raises:
        ToolFileError: the file cannot be read, or is not valid.
        ToolDefinitionError: the definition of a tool is not valid.
    """
    try:
        document = tomllib.loads(text_of(Path(path)))
    except (ValueError, RecursionError) as fault:  # RecursionError for deeply nested lists
        raise ToolFileError(path, str(fault)) from fault
    entries = document.pop("expose", [])
    if document or not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ToolFileError(path, "it holds tables [[expose]] and nothing else")
    return [_exposed(path, number, entry) for number, entry in enumerate(entries, 1)]


def _exposed(path: str, number: int, entry: dict[str, Any]) -> Tool:
    options: dict[str, Any] = {}
    for key, value in entry.items():
        if key in _DURATIONS and isinstance(value, int | float) and not isinstance(value, bool):
            options[_DURATIONS[key]] = timedelta(seconds=value)
        elif key in _TYPES and isinstance(value, _TYPES[key]):
            options[key] = value
        else:
            known = ", ".join([*_TYPES, *_DURATIONS])
            raise ToolFileError(path, f"[[expose]] number {number}: {key} is not one of {known}, or of another type")
    task = options.pop("task", "")
    if not task:
        raise ToolFileError(path, f"[[expose]] number {number} names no task")
    try:
        return exposed_tool(task, **_typed(options))
    except ToolDefinitionError as fault:
        raise ToolFileError(path, str(fault)) from fault


def _typed(options: dict[str, Any]) -> Options:
    typed: Options = {}
    typed.update(options)  # type: ignore[typeddict-item]  # the type of each value was checked above
    return typed
