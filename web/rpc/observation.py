"""Add the method, the tool and the task of a request to log lines and its trace, and nothing else of its content."""

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
"""Names that can be a method's; others are not recorded."""

TOOL_PATTERN: Final = re.compile(r"[A-Za-z0-9_.\-]{1,128}", re.ASCII)
"""Names that can be a tool's. Source: server/tools, "Tool Names"."""


METHOD_KEY: Final = "coatcheck.method"
"""WSGI environ key of the method that is served, set by the endpoint once the body is read."""


def observed(body: object, answer: Callable[[], Reply]) -> Reply:
    """Return the reply, with log lines and a span for this request while it is produced.

    The span ends with the response; that of a stream ends when the stream begins.
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
    """Return the method and the parameters of a body, as far as it has them."""
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
