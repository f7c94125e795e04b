"""Serialize results, errors, notifications and tasks of the current revision. Pure; camelCase stays here and in the
envelope."""

import json
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

import orjson

from coatcheck.tasks_store import Status, Task
from coatcheck.web.errors import JsonRpcError
from coatcheck.web.protocol.envelope import (
    IDEMPOTENCY_EXTENSION,
    SUPPORTED_VERSIONS,
    TASKS_EXTENSION,
    RequestId,
)
from coatcheck.workers.toolkit.results import SERVER_INFO

SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"
"""`_meta` key of every message of a stream: the id of the request that opened it."""

PROGRESS_META: Final = "io.coatcheck/progress"
"""`_meta` key of a task with `progress` and `total`, for which the extension has no field."""

COMPLETE: Final[Mapping[str, object]] = {"resultType": "complete"}
"""The empty acknowledgement. Source: ext-tasks, tasks.md, "Task Update Requests" and "Task Cancellation"."""

Result = Mapping[str, object] | bytes
"""A result without the server's `_meta`, or the complete bytes of one."""


def result_message(request_id: RequestId, result: Result, server_info: Mapping[str, str]) -> bytes:
    """Return a JSON-RPC response, with the server's name in the `_meta` of its result."""
    if isinstance(result, bytes):
        whole: object = orjson.Fragment(result)
    else:
        own = result.get("_meta")
        meta = {SERVER_INFO: server_info}
        whole = {**result, "_meta": {**own, **meta} if isinstance(own, Mapping) else meta}
    return orjson.dumps({"jsonrpc": "2.0", "id": _id(request_id), "result": whole})


def error_message(request_id: RequestId | None, refusal: JsonRpcError) -> bytes:
    """Return a JSON-RPC error response; without an id when the request's id could not be read."""
    error: dict[str, object] = {"code": refusal.code, "message": refusal.message}
    if refusal.data is not None:
        error["data"] = orjson.Fragment(refusal.data) if isinstance(refusal.data, bytes) else refusal.data
    addressed = {} if request_id is None else {"id": _id(request_id)}
    return orjson.dumps({"jsonrpc": "2.0", **addressed, "error": error})


def progress_message(token: RequestId, progress: Mapping[str, object]) -> bytes:
    """Return a `notifications/progress`. Source: basic/patterns/progress."""
    return _notification("notifications/progress", {"progressToken": _id(token), **progress})


def subscription_acknowledged(subscription_id: RequestId, task_ids: Sequence[str] | None) -> bytes:
    """Return a `notifications/subscriptions/acknowledged`. Source: basic/patterns/subscriptions, "Acknowledgment"."""
    honoured = {} if task_ids is None else {"taskIds": task_ids}
    params = {"_meta": {SUBSCRIPTION_ID: _id(subscription_id)}, "notifications": honoured}
    return _notification("notifications/subscriptions/acknowledged", params)


def task_notification(subscription_id: RequestId, task: Task) -> bytes:
    """Return a `notifications/tasks`, with the fields of `tasks/get`. Source: ext-tasks, tasks.md, "Task Status
    Notifications"."""
    params = _detailed(task)
    params["_meta"] = {SUBSCRIPTION_ID: _id(subscription_id), **_progress(task)}
    return _notification("notifications/tasks", params)


def subscription_ended(subscription_id: RequestId, server_info: Mapping[str, str]) -> bytes:
    """Return the result that ends a subscription. Source: basic/patterns/subscriptions, "Graceful Closure"."""
    return orjson.dumps({**COMPLETE, "_meta": {SUBSCRIPTION_ID: _id(subscription_id), SERVER_INFO: server_info}})


def discover_result(instructions: str, ttl_ms: int, cache_scope: str) -> dict[str, object]:
    """Return a DiscoverResult. Source: server/discover."""
    result: dict[str, object] = {
        **COMPLETE,
        "supportedVersions": list(SUPPORTED_VERSIONS),
        "capabilities": {"tools": {}, "extensions": {TASKS_EXTENSION: {}, IDEMPOTENCY_EXTENSION: {}}},
        "ttlMs": ttl_ms,
        "cacheScope": cache_scope,
    }
    return {**result, "instructions": instructions} if instructions else result


def list_tools_result(
    tools: Sequence[Mapping[str, object]], next_cursor: str, ttl_ms: int, cache_scope: str
) -> dict[str, object]:
    """Return a ListToolsResult; no cursor on the last page. Source: server/tools, "Listing Tools"."""
    result: dict[str, object] = {**COMPLETE, "tools": tools, "ttlMs": ttl_ms, "cacheScope": cache_scope}
    return {**result, "nextCursor": next_cursor} if next_cursor else result


def input_required_result(requests: Mapping[str, bytes], request_state: str) -> dict[str, object]:
    """Return an InputRequiredResult. Source: basic/patterns/mrtr, "InputRequiredResult"."""
    return {"resultType": "input_required", "inputRequests": _fragments(requests), "requestState": request_state}


def create_task_result(task: Task) -> dict[str, object]:
    """Return a CreateTaskResult: the flat task, without inputs, result or error. Source: ext-tasks, tasks.md, "Task
    Creation"."""
    return {"resultType": "task", **_task(task)}


def get_task_result(task: Task) -> dict[str, object]:
    """Return a GetTaskResult: the task with its open inputs, result or error. Source: ext-tasks, tasks.md, "Task
    Polling"."""
    progress = _progress(task)
    return {**COMPLETE, **_detailed(task), "_meta": progress} if progress else {**COMPLETE, **_detailed(task)}


def timestamp(ms: int) -> str:
    """Format Unix milliseconds as ISO 8601 with `Z` and three decimals."""
    seconds, rest = divmod(ms, 1000)
    return f"{_second(seconds)}.{rest:03d}Z"


@lru_cache(maxsize=4096)
def _second(seconds: int) -> str:
    """Format a whole second. Cached: a task is polled many times with the same timestamps."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))


def compact_json(value: object) -> bytes:
    """Serialize a value for the store. The standard encoder, because clients' integers can exceed 64 bits."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _detailed(task: Task) -> dict[str, object]:
    """Return a DetailedTask. Source: ext-tasks, tasks.md, "Task Status"."""
    shown = _task(task)
    if task.status is Status.INPUT_REQUIRED:
        shown["inputRequests"] = _fragments(task.input_requests)
    elif task.status is Status.COMPLETED:
        assert task.result is not None
        shown["result"] = orjson.Fragment(task.result)
    elif task.status is Status.FAILED:
        assert task.error is not None
        error: dict[str, object] = {"code": task.error.code, "message": task.error.message}
        if task.error.data is not None:
            error["data"] = orjson.Fragment(task.error.data)
        shown |= {"error": error, "statusMessage": task.message or task.error.message}
    return shown


def _task(task: Task) -> dict[str, object]:
    shown: dict[str, object] = {"taskId": task.task_id, "status": task.status.value}
    if task.message:
        shown["statusMessage"] = task.message
    shown["createdAt"] = timestamp(task.created_ms)
    shown["lastUpdatedAt"] = timestamp(task.updated_ms)
    shown["ttlMs"] = task.ttl_ms
    shown["pollIntervalMs"] = task.poll_interval_ms
    return shown


def _progress(task: Task) -> dict[str, object]:
    """Return the `_meta` of a task that reports `progress` and `total`; empty for any other."""
    told = orjson.loads(task.progress) if task.progress else {}
    if told.get("progress") is None or told.get("total") is None:
        return {}
    return {PROGRESS_META: {"progress": told["progress"], "total": told["total"]}}


def _notification(method: str, params: Mapping[str, object]) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "method": method, "params": params})


def _fragments(parts: Mapping[str, bytes]) -> dict[str, orjson.Fragment]:
    return {key: orjson.Fragment(part) for key, part in parts.items()}


def _id(request_id: RequestId) -> object:
    """Return the id unchanged: a client's integer can exceed the 64 bits of orjson."""
    return orjson.Fragment(str(request_id)) if isinstance(request_id, int) else request_id
