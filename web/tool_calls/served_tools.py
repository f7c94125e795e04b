"""Tools that the web server runs itself and that receive the call; other tools receive their arguments alone."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from coatcheck.web.protocol.call import Call
from coatcheck.web.protocol.serialization import Result
from coatcheck.web.streams.waiting import Progress
from coatcheck.workers.toolkit.tool import Tool

STATUS_TOOL: Final = "task_status"
"""Reports a task's status."""
ANSWER_TOOL: Final = "task_answer"
"""Answers a task's open inputs."""


@dataclass(frozen=True, kw_only=True)
class ServedTool(Tool):
    """A tool whose work is a method of the web server, called with the call and its validated arguments."""

    serve: Callable[[Call, Mapping[str, Any]], Result | Progress] = field(repr=False)

    @property
    def source(self) -> str:
        """Where the tool is configured."""
        return "one of COATCHECK_COMPANIONS"


@dataclass(frozen=True, slots=True)
class TaskToolAdvice:
    """How a client without task support can continue with a task, by the task tools that are offered."""

    can_follow: bool
    can_answer: bool

    @classmethod
    def by(cls, tools: Iterable[Tool]) -> "TaskToolAdvice":
        """Return the advice that these tools allow."""
        names = {tool.name for tool in tools if isinstance(tool, ServedTool)}
        return cls(STATUS_TOOL in names, {STATUS_TOOL, ANSWER_TOOL} <= names)

    def in_words(self, task_id: str) -> str:
        """Return instructions for a model whose call is no longer waited for."""
        answers = f", and {ANSWER_TOOL} to answer what it asks" if self.can_answer else ""
        return f"It goes on as task {task_id}: call {STATUS_TOOL} with this task_id for how it stands{answers}."
