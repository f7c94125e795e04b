"""Tools that run in the process that was asked: cheap look-ups, without a record."""

from collections.abc import Mapping
from typing import Any

from workers.outcome import Ending, ending_of
from workers.settings import WorkerSettings
from workers.tool import Tool


def run_inline(tool: Tool, arguments: Mapping[str, Any], settings: WorkerSettings) -> Ending:
    """The tool's ending, at once."""
    return ending_of(
        tool, lambda: tool.function(**tool.arguments.load(arguments)), settings, f"inline tool {tool.name}"
    )
