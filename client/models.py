"""The messages of the tasks extension, as models over those of the official SDK. Camel case is theirs.

Source: ext-tasks, tasks.md.
"""

from datetime import UTC, datetime
from typing import Annotated, Any, Final, Literal

from mcp_types import (
    CallToolResult,
    DiscoverResult,
    ErrorData,
    InputRequests,
    InputRequiredResult,
    InputResponses,
    Request,
    RequestParams,
    Result,
    SubscriptionFilter,
    TextContent,
)
from pydantic import AfterValidator, Discriminator, Tag, TypeAdapter

TASKS: Final = "io.modelcontextprotocol/tasks"
"""The extension's identifier. Source: ext-tasks, tasks.md, "Extension Identifier"."""

IDEMPOTENCY_KEY: Final = "io.coatcheck/idempotencyKey"
"""The `_meta` key of a call that may be repeated without starting its work twice."""

PROGRESS: Final = "io.coatcheck/progress"
"""The `_meta` key under which a task says how far it has come: `progress` of `total`."""

Status = Literal["working", "input_required", "completed", "failed", "cancelled"]

TERMINAL: Final = frozenset({"completed", "failed", "cancelled"})
"""Statuses that a task never leaves."""


Moment = Annotated[datetime, AfterValidator(lambda moment: moment if moment.tzinfo else moment.replace(tzinfo=UTC))]
"""A moment of a server; one that comes without a zone is in UTC."""


class Task(Result):
    """A task as its server describes it, with what belongs to its status. Source: "Tasks", "Task Polling"."""

    task_id: str
    status: Status
    status_message: str | None = None
    created_at: Moment
    last_updated_at: Moment
    ttl_ms: int | None = None
    poll_interval_ms: int | None = None
    input_requests: InputRequests | None = None
    result: CallToolResult | None = None
    error: ErrorData | None = None

    @property
    def is_terminal(self) -> bool:
        """The task has ended."""
        return self.status in TERMINAL

    @property
    def has_tool_error(self) -> bool:
        """The tool says that it could not do what was asked."""
        return self.status == "completed" and self.result is not None and bool(self.result.is_error)

    @property
    def progress(self) -> tuple[float, float] | None:
        """How far of how much the work has come; None when the server does not say."""
        told = (self.meta or {}).get(PROGRESS)
        done, total = (told.get("progress"), told.get("total")) if isinstance(told, dict) else (None, None)
        if not isinstance(done, int | float) or not isinstance(total, int | float) or not total > 0:
            return None
        return done, total


class TaskParams(RequestParams):
    """Names a task."""

    task_id: str


class UpdateTaskParams(TaskParams):
    """Names a task and answers what it asks."""

    input_responses: InputResponses


class GetTask(Request[TaskParams, Literal["tasks/get"]]):
    """Source: "Task Polling"."""

    method: Literal["tasks/get"] = "tasks/get"
    name_param = "taskId"


class UpdateTask(Request[UpdateTaskParams, Literal["tasks/update"]]):
    """Source: "Task Update Requests"."""

    method: Literal["tasks/update"] = "tasks/update"
    name_param = "taskId"


class CancelTask(Request[TaskParams, Literal["tasks/cancel"]]):
    """Source: "Task Cancellation"."""

    method: Literal["tasks/cancel"] = "tasks/cancel"
    name_param = "taskId"


class TaskFilter(SubscriptionFilter):
    """The tasks whose changes are to be told, or will be."""

    task_ids: list[str] | None = None


class ListenParams(RequestParams):
    """What a stream is to tell."""

    notifications: TaskFilter


class Listen(Request[ListenParams, Literal["subscriptions/listen"]]):
    """Source: "Task Status Notifications"."""

    method: Literal["subscriptions/listen"] = "subscriptions/listen"


def goes_on(result: CallToolResult) -> bool:
    """The work of this call was not done when the server had to answer, and its result is there for the call's key.

    A result has no field for that: a server says it in words, to whoever is to call again.
    """
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    return bool(result.is_error) and any("idempotency key" in text for text in texts)


def server_name(discovered: DiscoverResult) -> str:
    """What the server calls itself; empty when it does not say. For display. Source: server/discover."""
    info = (discovered.meta or {}).get("io.modelcontextprotocol/serverInfo")
    return str(info.get("name", "")) if isinstance(info, dict) else ""


def _kind_of_answer(value: Any) -> str:
    """The `resultType` that says how a result is to be read; absent means complete."""
    kind = value.get("resultType") if isinstance(value, dict) else getattr(value, "result_type", None)
    return str(kind or "complete")


CALL_ANSWER: Final[TypeAdapter[CallToolResult | InputRequiredResult | Task]] = TypeAdapter(
    Annotated[
        Annotated[CallToolResult, Tag("complete")]
        | Annotated[InputRequiredResult, Tag("input_required")]
        | Annotated[Task, Tag("task")],
        Discriminator(_kind_of_answer),
    ]
)
"""What may answer `tools/call`. Source: "Polymorphic Results"."""
