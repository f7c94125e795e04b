"""What the log and a trace are told of a request: its method, its tool, its task; nothing else of what it holds."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from coatcheck.tasks_store.model import TASK_ID
from coatcheck.web.protocol.envelope import TRACE_FIELDS
from coatcheck.web.protocol.response import PendingResponse, Reply
from coatcheck.workers.telemetry.logs import know
from coatcheck.workers.telemetry.tracing import request_span

METHOD_PATTERN: Final = re.compile(r"[A-Za-z_]{1,32}(/[A-Za-z_]{1,32}){0,3}", re.ASCII)
"""What is taken for a method; what is none is nobody's business."""

TOOL_PATTERN: Final = re.compile(r"[A-Za-z0-9_.\-]{1,128}", re.ASCII)
"""A tool's name. Source: server/tools, "Tool Names"."""


METHOD_KEY: Final = "coatcheck.method"
"""Where the endpoint leaves the method of a request in its environ, once the body is read and an era takes it."""


def observed(body: object, answer: Callable[[], Reply]) -> Reply:
    """The reply; meanwhile the log's lines say what they are about, and a span is active that ends with the answer.

    A stream's span ends when the stream begins.
    """
    method, params = _read(body)
    if not method:
        return answer()
    facts = _facts(method, params)
    know(method=method, **facts)
    span = request_span(method, facts, _trace(params))
    if span is None:
        return answer()
    with span.active():
        reply = answer()
    if isinstance(reply, PendingResponse):
        return replace(reply, answering=span.through(reply.answering))
    span.end()
    return reply


def _read(body: object) -> tuple[str, Mapping[str, object]]:
    """Method and parameters of a body that has them."""
    if not isinstance(body, dict):
        return "", {}
    method, params = body.get("method"), body.get("params")
    is_named = isinstance(method, str) and METHOD_PATTERN.fullmatch(method)
    return str(method) if is_named else "", params if isinstance(params, dict) else {}


def _facts(method: str, params: Mapping[str, object]) -> dict[str, str]:
    tool, task_id = params.get("name"), params.get("taskId")
    facts = {}
    if method == "tools/call" and isinstance(tool, str) and TOOL_PATTERN.fullmatch(tool):
        facts["tool"] = tool
    if isinstance(task_id, str) and TASK_ID.fullmatch(task_id):
        facts["task_id"] = task_id
    return facts


def _trace(params: Mapping[str, object]) -> dict[str, str]:
    """Source: basic/index, "OpenTelemetry Trace Context"."""
    meta = params.get("_meta")
    if not isinstance(meta, dict):
        return {}
    return {name: value for name in TRACE_FIELDS if isinstance(value := meta.get(name), str)}
