"""`task_status`: report the status of a task, optionally after a wait for news."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
from pydantic import BaseModel, ConfigDict, Field

from coatcheck.tasks_store import Status, Task, TaskNotFound
from coatcheck.web.access.limits import Limits
from coatcheck.web.protocol.call import Call
from coatcheck.web.protocol.wording import counted
from coatcheck.web.server.threads import compute
from coatcheck.web.streams.connections import Connections
from coatcheck.web.streams.waiting import is_at_rest, until_at_rest
from coatcheck.web.task_tools.definition import TaskToolDefinition
from coatcheck.web.task_tools.lookup import NO_TASK, TaskLookup
from coatcheck.web.task_tools.questions import QUESTIONS_SCHEMA, questions_in_words, questions_of
from coatcheck.web.task_tools.task_fields import TASK_PROPERTIES, TASK_REQUIRED, task_fields
from coatcheck.web.tool_calls.calls import Calls
from coatcheck.workers.toolkit.content import Content, ToolResult
from coatcheck.workers.toolkit.errors import ToolError


class TaskStatusArguments(BaseModel):
    """The task, and how long to wait."""

    model_config = ConfigDict(extra="forbid")

    task_id: str = Field(description="The id that the call of the tool was answered with")
    wait_seconds: float = Field(0, ge=0, le=3600, description="How long to wait for news, if the task is working")


TASK_STATUS_OUTPUT: Final = {
    "type": "object",
    "properties": {
        **TASK_PROPERTIES,
        "questions": QUESTIONS_SCHEMA,
        "result": {"description": "The structured result of the tool, once it has completed with one"},
        "result_is_error": {"type": "boolean", "description": "The tool says that it could not do what was asked"},
        "error": {
            "type": "object",
            "description": "Why the task failed",
            "properties": {"code": {"type": "integer"}, "message": {"type": "string"}, "data": {}},
            "required": ["code", "message"],
        },
    },
    "required": TASK_REQUIRED,
}


@dataclass(frozen=True)
class StoredContent(Content):
    """A content block of a stored result."""

    block: Mapping[str, Any]

    def to_wire(self) -> dict[str, Any]:
        """Return the block."""
        return dict(self.block)


TASK_STATUS: Final = TaskToolDefinition(
    title="Status of a task",
    description="""Tell where a long-running task stands: what it is doing, what it asks, or its result.

With wait_seconds the answer comes once there is news, at the latest after a while that this server chooses: if the task
is still working then, call again.""",
    arguments_model=TaskStatusArguments,
    output_schema=TASK_STATUS_OUTPUT,
)


class TaskStatus:
    """Reports what `tasks/get` returns, as text."""

    def __init__(
        self, connections: Callable[[], Connections], calls: Calls, lookup: TaskLookup, limits: Limits, longest_s: float
    ) -> None:
        """`longest_s` limits every wait."""
        self._connections = connections
        self._calls = calls
        self._lookup = lookup
        self._limits = limits
        self._longest_s = longest_s

    def task_status(
        self, call: Call, *, task_id: str, wait_seconds: float
    ) -> Generator[bytes | None, None, ToolResult]:
        """Return the task once it is at rest or the wait is over; without a free slot it returns at once.

        Raises:
            ToolError: this owner has no such task.
            InsufficientScope, LimitReached: as `tasks/get`.
        """
        self._limits.check_poll(call.owner, task_id)
        task = self._lookup.task(call, task_id, "tasks/get")
        wait_s = min(wait_seconds, self._longest_s)
        if wait_s and not is_at_rest(task):
            try:
                task = yield from self._later(call, task, wait_s)
            except TaskNotFound as fault:  # purged meanwhile
                raise ToolError(NO_TASK) from fault
        return _told(task)

    def _later(self, call: Call, task: Task, wait_s: float) -> Generator[bytes | None, None, Task]:
        read = self._calls.reader(call.owner, task.task_id)
        with self._calls.slot_if_free(call.owner) as may_wait:
            if not may_wait:
                return task
            with self._connections().feed.watch(task.task_id) as watch:
                # What happened before the watch began is in the record that is read after it.
                seen = yield from until_at_rest(read(), read, watch, wait_s)
        return seen or read()


def _told(task: Task) -> ToolResult:
    structured = task_fields(task)
    name = f"Task {task.task_id} of the tool {task.tool}"
    match task.status:
        case Status.INPUT_REQUIRED:
            questions = questions_of(task.input_requests)
            return ToolResult([questions_in_words(task.task_id, questions)], {**structured, "questions": questions})
        case Status.COMPLETED:
            return _completed(name, task, structured)
        case Status.FAILED:
            assert task.error is not None
            error: dict[str, Any] = {"code": task.error.code, "message": task.error.message}
            if task.error.data is not None:
                error["data"] = orjson.loads(task.error.data)
            return ToolResult([f"{name} has failed: {task.error.message}"], {**structured, "error": error})
        case Status.CANCELLED:
            return ToolResult([f"{name} was cancelled."], structured)
    doing = f" ({task.message})" if task.message else ""
    pause = task.poll_interval_ms / 1000
    return ToolResult(
        [f"{name} is working{doing}. Call task_status again with wait_seconds, or in {counted(pause, 'second')}."],
        structured,
    )


def _completed(name: str, task: Task, structured: dict[str, Any]) -> ToolResult:
    stored = task.result or b"{}"
    result = compute(orjson.loads, stored, size=len(stored))
    is_error = bool(result.get("isError", False))
    what = "has ended with an error. What the tool said:" if is_error else "has completed. Its result:"
    blocks = [StoredContent(block=block) for block in result.get("content", [])]
    structured = {**structured, "result_is_error": is_error}
    if "structuredContent" in result:
        structured["result"] = result["structuredContent"]
    return ToolResult([f"{name} {what}", *blocks], structured)
