"""How tasks, results and errors look as JSON: the wire's own names, beside the server and the tool."""

from collections.abc import Mapping
from typing import Any

from mcp_types import CallToolResult, InputRequest
from pydantic import BaseModel

from coatcheck.client.command.exits import Exit, exit_of
from coatcheck.client.errors import (
    ClientError,
    InputNeeded,
    TaskCancelled,
    TaskFailed,
    UnknownTicket,
    WaitedEnough,
)
from coatcheck.client.ledger import TOOL_ERROR, Entry
from coatcheck.client.models import Task
from coatcheck.client.terminal.text import json_line


def wire(model: BaseModel) -> Any:
    """The model as it came over the wire."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def task_object(where: Mapping[str, str], task: Task) -> dict[str, Any]:
    """How the task stands; `where` says which one it is."""
    described = wire(task)
    described.pop("_meta", None)
    return {**where, **described}


def outcome_object(where: Mapping[str, str], outcome: CallToolResult | ClientError) -> dict[str, Any]:
    """What came of a call or a task; `where` says of which."""
    if isinstance(outcome, CallToolResult):
        return {**where, "status": "completed", "result": wire(outcome)}
    return {**where, **fault_object(outcome)}


def fault_object(fault: ClientError) -> dict[str, Any]:
    """Why there is no result."""
    if isinstance(fault, InputNeeded):
        return {"status": "input_required", "inputRequests": requests_object(fault.requests)}
    error: dict[str, Any] = {"message": str(fault)}
    if isinstance(fault, TaskFailed):
        error["code"] = fault.code
        return {"status": "failed", "error": error}
    if isinstance(fault, TaskCancelled):
        return {"status": "cancelled", "error": error}
    if isinstance(fault, WaitedEnough):
        return {"status": "working", "error": error}
    if isinstance(fault, UnknownTicket):
        return {"status": "unknown", "error": error}
    return {"status": "unreachable" if exit_of(fault) is Exit.UNREACHABLE else "refused", "error": error}


def fault_line(fault: ClientError) -> str:
    """The same as one line of JSON."""
    return json_line(fault_object(fault))


def requests_object(requests: Mapping[str, InputRequest]) -> dict[str, Any]:
    """What a task asks, by key."""
    return {key: wire(request) for key, request in requests.items()}


def entry_object(entry: Entry) -> dict[str, Any]:
    """What the ledger knows of a call."""
    described = {
        "server": entry.server,
        "tool": entry.tool,
        "taskId": entry.task_id or None,
        "status": "completed" if entry.status == TOOL_ERROR else entry.status,
        "isError": True if entry.status == TOOL_ERROR else None,
        "createdMs": entry.created_ms,
        "expiresMs": entry.expires_ms,
        "idempotencyKey": entry.idempotency_key,
    }
    return {name: value for name, value in described.items() if value is not None}
