"""The fields with which task tools show a task. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from coatcheck.tasks_store import Status, Task
from coatcheck.web.protocol.serialization import timestamp

_TEXT: Final = {"type": "string"}
_TIME: Final = {"type": "string", "format": "date-time"}

TASK_PROPERTIES: Final[Mapping[str, Any]] = {
    "task_id": _TEXT,
    "tool": {"type": "string", "description": "The tool that was called"},
    "status": {"type": "string", "enum": [status.value for status in Status]},
    "message": {"type": "string", "description": "What the tool says of its progress, or why it ended so"},
    "created_at": _TIME,
    "updated_at": _TIME,
    "expires_at": {**_TIME, "description": "When the task and its result are deleted"},
    "principal": {"type": "string", "description": "Whose task it is; only in the list of a tenant"},
}
"""JSON Schemas of the fields."""

TASK_REQUIRED: Final = ["task_id", "tool", "status", "created_at", "updated_at", "expires_at"]


def task_fields(task: Task) -> dict[str, Any]:
    """Return the fields of a task without inputs, result and error; empty fields are left out."""
    optional = {"message": task.message, "principal": task.principal}
    return {
        "task_id": task.task_id,
        "tool": task.tool,
        "status": task.status.value,
        "created_at": timestamp(task.created_ms),
        "updated_at": timestamp(task.updated_ms),
        "expires_at": timestamp(task.created_ms + task.ttl_ms),
        **{name: text for name, text in optional.items() if text},
    }
