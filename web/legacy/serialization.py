"""Serialize results, tasks and tools for legacy revisions. Pure; their camelCase stays here."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from coatcheck.tasks_store import Task
from coatcheck.web.legacy.revisions import Revision
from coatcheck.web.protocol.serialization import Result, timestamp
from coatcheck.web.server.threads import compute
from coatcheck.workers.toolkit.results import SERVER_INFO
from coatcheck.workers.toolkit.tool import Mode

RELATED_TASK: Final = "io.modelcontextprotocol/related-task"
"""`_meta` key of the task that a message is about. Source: 2025-11-25, basic/utilities/tasks, "Related Task Metadata".
"""

STATUS_NOTIFICATION: Final = "notifications/tasks/status"

TASK_SUPPORT: Final[Mapping[Mode, str]] = {
    "task": "optional",
    "task_only": "required",
    "sync": "forbidden",
    "inline": "forbidden",
}
"""Source: 2025-11-25, basic/utilities/tasks, "Tool-Level Negotiation"."""

_NEWER_THAN_STRUCTURE: Final = ("title", "outputSchema", "_meta")
"""Fields of a tool that 2025-03-26 does not have."""


def initialize_result(
    revision: Revision, server_info: Mapping[str, str], instructions: str, *, lists_tasks: bool
) -> dict[str, object]:
    """Return an InitializeResult. Source: 2025-11-25, basic/lifecycle, "Initialization"."""
    capabilities: dict[str, object] = {"tools": {}, "logging": {}}
    if revision.has_tasks:
        listing: dict[str, object] = {"list": {}} if lists_tasks else {}
        capabilities["tasks"] = {**listing, "cancel": {}, "requests": {"tools": {"call": {}}}}
    result: dict[str, object] = {
        "protocolVersion": revision.name,
        "capabilities": capabilities,
        "serverInfo": dict(server_info),
    }
    return {**result, "instructions": instructions} if instructions else result


def legacy_tool(revision: Revision, described: Mapping[str, Any], mode: Mode) -> dict[str, object]:
    """Return a Tool, from its description in the current revision.

    Source: schema, Tool, of each revision: an output schema is one of an object.
    """
    told = dict(described)
    if "outputSchema" in told and told["outputSchema"].get("type") != "object":
        del told["outputSchema"]
    if not revision.has_structure:
        for name in _NEWER_THAN_STRUCTURE:
            told.pop(name, None)
    if revision.has_tasks:
        told["execution"] = {"taskSupport": TASK_SUPPORT[mode]}
    else:
        told.pop("icons", None)
    return told


def legacy_list_tools_result(tools: Sequence[Mapping[str, object]], next_cursor: str) -> dict[str, object]:
    """Return a ListToolsResult; no cursor on the last page."""
    return {"tools": tools, "nextCursor": next_cursor} if next_cursor else {"tools": tools}


def legacy_call_result(revision: Revision, result: Result, task_id: str = "") -> dict[str, object]:
    """Return a CallToolResult, from one of the current revision; with the id of its task, if one is given.

    Source: schema, CallToolResult, of each revision: structured content is an object.
    """
    told: dict[str, Any] = _loaded(result if isinstance(result, bytes) else orjson.dumps(result))
    told.pop("resultType", None)
    meta = {name: value for name, value in told.pop("_meta", {}).items() if name != SERVER_INFO}
    if not revision.has_structure or not isinstance(told.get("structuredContent"), dict):
        told.pop("structuredContent", None)
    if not revision.has_structure:
        told["content"] = [_without_links(block) for block in told["content"]]
    if task_id:
        meta |= related_to(task_id)
    return {**told, "_meta": meta} if meta else told


def _loaded(result: bytes) -> dict[str, Any]:
    return compute(orjson.loads, result, size=len(result))


def related_to(task_id: str) -> dict[str, object]:
    """Return the `_meta` of a message about this task."""
    return {RELATED_TASK: {"taskId": task_id}}


def legacy_task(task: Task) -> dict[str, object]:
    """Return a Task. Source: 2025-11-25, basic/utilities/tasks, "Task"."""
    shown: dict[str, object] = {"taskId": task.task_id, "status": task.status.value}
    message = task.message or (task.error.message if task.error is not None else "")
    if message:
        shown["statusMessage"] = message
    shown["createdAt"] = timestamp(task.created_ms)
    shown["lastUpdatedAt"] = timestamp(task.updated_ms)
    shown["ttl"] = task.ttl_ms
    shown["pollInterval"] = task.poll_interval_ms
    return shown


def legacy_create_task_result(task: Task) -> dict[str, object]:
    """Return a CreateTaskResult. Source: 2025-11-25, basic/utilities/tasks, "Creating Tasks"."""
    return {"task": legacy_task(task)}


def legacy_list_tasks_result(tasks: Sequence[Task], next_cursor: str) -> dict[str, object]:
    """Return a ListTasksResult. Source: 2025-11-25, basic/utilities/tasks, "Listing Tasks"."""
    told: dict[str, object] = {"tasks": [legacy_task(task) for task in tasks]}
    return {**told, "nextCursor": next_cursor} if next_cursor else told


def status_notification(task: Task) -> bytes:
    """Return a `notifications/tasks/status`. Source: 2025-11-25, basic/utilities/tasks, "Task Status Notification"."""
    return orjson.dumps({"jsonrpc": "2.0", "method": STATUS_NOTIFICATION, "params": legacy_task(task)})


def _without_links(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a resource link as text: 2025-03-26 has no links."""
    if block["type"] != "resource_link":
        return block
    return {"type": "text", "text": f"{block['name']}: {block['uri']}"}
