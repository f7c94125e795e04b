"""Tools that the front door serves itself, knowing who calls. Others get their arguments and nothing else."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from coatcheck.web.protocol.call import Call
from coatcheck.web.protocol.serialization import Result
from coatcheck.web.streams.waiting import Progress
from coatcheck.workers.toolkit.tool import Tool

STATUS_TOOL: Final = "task_status"
"""Tells where a task stands."""
ANSWER_TOOL: Final = "task_answer"
"""Answers what a task asks."""


@dataclass(frozen=True, kw_only=True)
class ServedTool(Tool):
    """A tool whose work is this method on the call and its arguments, which fit the schema."""

    serve: Callable[[Call, Mapping[str, Any]], Result | Progress] = field(repr=False)

    @property
    def source(self) -> str:
        """Who offers it."""
        return "one of COATCHECK_COMPANIONS"


@dataclass(frozen=True, slots=True)
class TaskToolAdvice:
    """How a client that knows no tasks can go on with one, by the tools that are served."""

    can_follow: bool
    can_answer: bool

    @classmethod
    def by(cls, tools: Iterable[Tool]) -> "TaskToolAdvice":
        """What these tools make possible."""
        names = {tool.name for tool in tools if isinstance(tool, ServedTool)}
        return cls(STATUS_TOOL in names, {STATUS_TOOL, ANSWER_TOOL} <= names)

    def in_words(self, task_id: str) -> str:
        """What a model has to do, once a call is not waited for any more."""
        answers = f", and {ANSWER_TOOL} to answer what it asks" if self.can_answer else ""
        return f"It goes on as task {task_id}: call {STATUS_TOOL} with this task_id for how it stands{answers}."
