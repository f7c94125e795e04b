"""`list_tasks`: list an owner's tasks, or with the operator scope those of the tenant."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, WithJsonSchema

from coatcheck.tasks_store import InvalidCursor, Status, Wanted
from coatcheck.web.access.scopes import NO_SCOPES, Scopes
from coatcheck.web.protocol.call import Call
from coatcheck.web.streams.connections import Connections
from coatcheck.web.task_tools.definition import TaskToolDefinition
from coatcheck.web.task_tools.task_fields import TASK_PROPERTIES, TASK_REQUIRED, task_fields
from coatcheck.workers.toolkit.content import ToolResult
from coatcheck.workers.toolkit.errors import ToolError
from coatcheck.workers.toolkit.tool import Catalogue

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


AnyStatus = Annotated[Status, WithJsonSchema({"type": "string", "enum": [status.value for status in Status]})]
"""A status whose schema leaves out the enum's own docstring."""


class ListTasksArguments(BaseModel):
    """Filters, all of which must match."""

    model_config = ConfigDict(extra="forbid")

    status: AnyStatus | None = Field(
        None,
        description="Only tasks that have this status: working and input_required go on, the others have ended; "
        "input_required waits for an answer",
    )
    tool: str | None = Field(None, description="Only tasks of the tool of this name")
    created_after: AwareDatetime | None = Field(None, description="Only tasks created at this time or later")
    created_before: AwareDatetime | None = Field(None, description="Only tasks created before this time")
    cursor: str | None = Field(None, description="The next_cursor of the page before")
    limit: int = Field(20, ge=1, le=100, description="How many tasks a page has at most")
    everyone: bool = Field(False, description="The tasks of everybody in your organisation; needs an operator's leave")


LIST_TASKS_OUTPUT: Final = {
    "type": "object",
    "properties": {
        "tasks": {
            "type": "array",
            "items": {"type": "object", "properties": TASK_PROPERTIES, "required": TASK_REQUIRED},
        },
        "next_cursor": {"type": "string", "description": "There is more; left out on the last page"},
    },
    "required": ["tasks"],
}

LIST_TASKS: Final = TaskToolDefinition(
    title="List tasks",
    description="""List the long-running tasks that were started here, the newest first.

Use it to find work that was begun earlier: what runs, what waits for an answer, what has ended. A page can be short, or
even empty, and still have a next_cursor: then call again with it.""",
    arguments_model=ListTasksArguments,
    output_schema=LIST_TASKS_OUTPUT,
)


class ListTasks:
    """Lists tasks from the store's index, without arguments, inputs or results."""

    def __init__(
        self, catalogue: Catalogue, connections: Callable[[], Connections], scopes: Scopes, operator_scope: str
    ) -> None:
        self._catalogue = catalogue
        self._connections = connections
        self._scopes = scopes
        self._operator_scope = operator_scope

    def list_tasks(
        self,
        call: Call,
        *,
        status: Status | None,
        tool: str | None,
        created_after: datetime | None,
        created_before: datetime | None,
        cursor: str | None,
        limit: int,
        everyone: bool,
    ) -> ToolResult:
        """Return one page, without tasks of tools that the caller cannot use.

        Raises:
            InsufficientScope: the tenant's tasks are requested without the operator scope.
            ToolError: the cursor is invalid.
        """
        self._scopes.check_as(call, "tasks/get", frozenset({self._operator_scope}) if everyone else NO_SCOPES)
        wanted = Wanted(
            status=status,
            tool=tool,
            hidden_tools=frozenset(one.name for one in self._catalogue if not self._scopes.may_use(call.caller, one)),
            created_after_ms=_ms(created_after),
            created_before_ms=_ms(created_before),
        )
        try:
            page = self._connections().store.listing.page(
                call.owner, wanted, of_tenant=everyone, limit=limit, cursor=cursor or ""
            )
        except InvalidCursor as fault:
            raise ToolError(
                "cursor: is no next_cursor of a page; leave it out to begin with the newest tasks."
            ) from fault
        told: dict[str, Any] = {"tasks": [task_fields(task) for task in page.tasks]}
        return ToolResult(structured=told | ({"next_cursor": page.cursor} if page.cursor else {}))


def _ms(time: datetime | None) -> int | None:
    """Return the time in whole milliseconds, rounded up: tasks are created in whole milliseconds."""
    return None if time is None else -((_EPOCH - time) // timedelta(milliseconds=1))
