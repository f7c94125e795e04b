"""Create a served tool from a method and its description."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from pydantic import BaseModel

from coatcheck.web.protocol.call import Call
from coatcheck.web.streams.waiting import Progress
from coatcheck.web.tool_calls.served_tools import ServedTool
from coatcheck.workers.settings import WorkerSettings
from coatcheck.workers.toolkit.content import ToolResult
from coatcheck.workers.toolkit.errors import ToolError
from coatcheck.workers.toolkit.results import completed, tool_error
from coatcheck.workers.toolkit.tool import Tool, described_tool

ServedWork = Callable[..., ToolResult | Generator[bytes | None, None, ToolResult]]
"""Takes the call, and its arguments by name; can be a generator that waits. Raises ToolError with words for a model,
and errors that the web server maps to responses."""

ADDED_TEXT_BYTES: Final = 1024 * 1024
"""Room for the text around a result, whose own size was limited when it was stored."""


@dataclass(frozen=True, kw_only=True)
class TaskToolDefinition:
    """The description of a task tool."""

    title: str
    description: str
    arguments_model: type[BaseModel]
    """The model of its arguments."""
    output_schema: Mapping[str, Any]
    """The JSON Schema of its structured result."""
    writes: bool = False
    """The tool does more than read."""


def served_tool(work: ServedWork, settings: WorkerSettings, definition: TaskToolDefinition) -> ServedTool:
    """Return the tool, named like the method."""
    defined = described_tool(
        name=work.__name__,
        title=definition.title,
        description=definition.description,
        mode="inline",
        input=definition.arguments_model,
        output=definition.output_schema,
        annotations={
            "readOnlyHint": not definition.writes,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    )
    form: dict[str, Any] = {
        "server_info": settings.server_info,
        "max_bytes": 2 * settings.max_result_bytes + ADDED_TEXT_BYTES,
    }

    def serve(call: Call, arguments: Mapping[str, Any]) -> Progress:
        try:
            result = work(call, **defined.arguments.load(arguments))
            if isinstance(result, Generator):
                result = yield from result
        except ToolError as error:
            return tool_error(error.message, error.structured, **form)
        return completed(result, defined.output, **form)

    return ServedTool(**{one.name: getattr(defined, one.name) for one in fields(Tool)}, serve=serve)
