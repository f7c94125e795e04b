"""`task_answer`: answer the open inputs of a task."""

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from coatcheck.tasks_store import Status, TaskNotFound
from coatcheck.web.errors import InvalidParams
from coatcheck.web.protocol.call import Call
from coatcheck.web.task_tools.definition import TaskToolDefinition
from coatcheck.web.task_tools.lookup import NO_TASK, TaskLookup
from coatcheck.web.task_tools.questions import QUESTIONS_SCHEMA, questions_in_words, questions_of
from coatcheck.web.task_tools.task_fields import TASK_PROPERTIES, TASK_REQUIRED, task_fields
from coatcheck.web.tool_calls.input_responses import checked_answers
from coatcheck.web.tool_calls.jobs import Jobs
from coatcheck.workers.toolkit.content import ToolResult
from coatcheck.workers.toolkit.errors import ToolError


class TaskAnswerArguments(BaseModel):
    """The task and the answers."""

    model_config = ConfigDict(extra="forbid")

    task_id: str = Field(description="The id of the task that asks")
    answers: dict[str, Any] = Field(
        description='By the key of the question: {"action": "accept", "content": {…}} for a form, as task_status says'
    )


_KEYS: Final = {"type": "array", "items": {"type": "string"}}

TASK_ANSWER_OUTPUT: Final = {
    "type": "object",
    "properties": {
        **TASK_PROPERTIES,
        "stored": {**_KEYS, "description": "The questions that were answered by this"},
        "ignored": {**_KEYS, "description": "Keys that name no open question"},
        "questions": {**QUESTIONS_SCHEMA, "description": "What is still to be answered"},
    },
    "required": [*TASK_REQUIRED, "stored", "ignored", "questions"],
}

TASK_ANSWER: Final = TaskToolDefinition(
    title="Answer a task",
    description="""Answer what a long-running task asks; task_status tells the questions and the form of each answer.

What is asked of a person is theirs to answer: put it to them first, and pass on what they say. The first answer to a
question stands, so that sending the same again changes nothing.""",
    arguments_model=TaskAnswerArguments,
    output_schema=TASK_ANSWER_OUTPUT,
    writes=True,
)


class TaskAnswer:
    """Answers inputs as `tasks/update` does, and reports the outcome."""

    def __init__(self, lookup: TaskLookup, jobs: Jobs) -> None:
        self._lookup = lookup
        self._jobs = jobs

    def task_answer(self, call: Call, *, task_id: str, answers: Mapping[str, Any]) -> ToolResult:
        """Store the answers and report which inputs are still open. All or none are stored; other keys and ended tasks
        change nothing.

        Raises:
            ToolError: this owner has no such task, or an answer is invalid; the message describes valid ones.
            InsufficientScope: as `tasks/update`.
        """
        task = self._lookup.task(call, task_id, "tasks/update")
        try:
            checked = checked_answers(task.input_requests, answers)
            answered = self._jobs.answer(call.owner, task_id, checked)
        except InvalidParams as fault:
            why = str(fault).replace("inputResponses.", "answers.")
            questions = questions_in_words(task_id, questions_of(task.input_requests))
            raise ToolError(f"Nothing was stored, because an answer does not fit: {why}\n{questions}") from fault
        except TaskNotFound as fault:  # purged meanwhile
            raise ToolError(NO_TASK) from fault
        task = self._lookup.task(call, task_id, "tasks/update")
        stored = list(answered.accepted)
        ignored = [key for key in answers if key not in stored]
        questions_left = questions_of(task.input_requests)
        said = [f"Stored: {', '.join(stored)}." if stored else "Nothing was stored."]
        if ignored:
            said.append(f"No open question has the key {', '.join(ignored)}: it was answered before, or never asked.")
        if questions_left:
            said.append(questions_in_words(task_id, questions_left))
        elif task.status is Status.WORKING:
            said.append("Nothing is open; the task goes on. task_status tells what comes of it.")
        else:
            said.append(f"The task has ended: it is {task.status.value}. task_status has the rest.")
        told = {**task_fields(task), "stored": stored, "ignored": ignored, "questions": questions_left}
        return ToolResult([" ".join(said)], told)
