"""Run a tool in a test, as a worker does, but in this process and without servers."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import orjson

from coatcheck.tasks_store import ANONYMOUS, Asked, Claim, Given, Owner, TaskStore, Verdict
from coatcheck.workers.runs.context import Context
from coatcheck.workers.runs.lease import Lease
from coatcheck.workers.runs.runner import call_tool
from coatcheck.workers.runs.shutdown import Drain
from coatcheck.workers.settings import WorkerSettings
from coatcheck.workers.toolkit.errors import Parked, WorkersError
from coatcheck.workers.toolkit.outcome import ending_of
from coatcheck.workers.toolkit.tool import Tool, tool_of

EVERYTHING: dict[str, dict[str, Any]] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}, "context": {}},
    "roots": {},
    "extensions": {"io.modelcontextprotocol/tasks": {}},
}
"""The capabilities of a client that supports every input."""

TASK_ID = "trial"


@dataclass(frozen=True, slots=True)
class Trial:
    """The outcome of a tool, or the inputs that it waits for."""

    status: str
    """`completed`, `failed`, or `input_required` if the test has no answer to an input."""
    result: dict[str, Any]
    """The CallToolResult, if completed: `content`, `structuredContent`, `isError`."""
    error: dict[str, Any]
    """The JSON-RPC error, if failed: `code`, `message`, and `data` if there is any."""
    asked: dict[str, dict[str, Any]]
    """Every input that was asked for, by its key, as the client gets it."""
    progress: tuple[str, ...]
    """The status messages that `ctx.progress` set, of all runs in order."""
    steps: tuple[str, ...]
    """The keys of the stored steps, in order."""

    @property
    def value(self) -> Any:
        """The structured content of the result; None if it has none."""
        return self.result.get("structuredContent")

    @property
    def text(self) -> str:
        """The joined text blocks of the result."""
        return "".join(part.get("text", "") for part in self.result.get("content", ()))


def try_tool(
    function: Callable[..., Any],
    arguments: Mapping[str, Any] | None = None,
    answers: Mapping[str, Any] | None = None,
    *,
    owner: Owner = ANONYMOUS,
    capabilities: Mapping[str, Any] = EVERYTHING,
) -> Trial:
    """Run a tool to its end, or to an input without an answer in `answers`.

    The tool parks at each input and runs again from the top with the answer, as on a worker: stored steps are not
    repeated, and validators check the answers. `answers` maps the key of an input to the content of a form, or to a
    complete answer: `{"action": "decline"}`, the result of a sampling, the list of roots. A key that is used again has
    its number: `amount#2`.

    Raises:
        ValueError: the function is not a tool.
        Exception: the tool raised an exception that is not one of Coatcheck's.
    """
    tool = tool_of(function)
    if tool is None or tool.function is None:
        raise ValueError(f"{function!r} is not a tool; decorate it with @tool")
    settings = WorkerSettings()
    record = _Record(dict(answers or {}))
    run_number = 0
    while True:
        run_number += 1
        claim = _claim(tool, run_number, record, arguments or {}, owner, capabilities)
        context = Context(claim, Lease(claim, Drain(0)), cast(TaskStore, record), settings.max_step_bytes)
        try:
            value = call_tool(tool, claim, context)
        except Parked:
            if not record.is_answered():
                return record.trial("input_required")
            continue
        except WorkersError as fault:
            ending = ending_of(tool, _raises(fault), settings, "trial")
        else:
            ending = ending_of(tool, lambda value=value: value, settings, "trial")  # type: ignore[misc]
        error = {} if ending.error is None else {"code": ending.error.code, "message": ending.error.message}
        if ending.error is not None and ending.error.data is not None:
            error["data"] = orjson.loads(ending.error.data)
        return record.trial(ending.status.value, json.loads(ending.result or b"{}"), error)


class _Record:
    """The record of a task, in memory."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.inputs: dict[str, Given] = {}
        self.steps: dict[str, bytes] = {}
        self._answers = answers
        self._progress: list[str] = []

    def progress(self, _task_id: str, _run_id: str, message: str, _event: bytes) -> bool:
        self._progress.append(message)
        return False

    def keep_step(self, _task_id: str, _run_id: str, step: str, result: bytes) -> bool:
        self.steps[step] = result
        return False

    def accept(self, _task_id: str, input_key: str, verdict: Verdict, why: str) -> bool:
        self.inputs[input_key] = replace(self.inputs[input_key], verdict=verdict, why=why)
        return True

    def park(self, _task_id: str, _run_id: str, asked: Sequence[Asked]) -> bool:
        for one in asked:
            answer = self._answer(one)
            self.inputs[one.input_key] = Given(one.request, answer, validator=one.validator)
        return True

    def is_answered(self) -> bool:
        return all(given.answer is not None for given in self.inputs.values())

    def trial(self, status: str, result: dict[str, Any] | None = None, error: dict[str, Any] | None = None) -> Trial:
        asked = {key: orjson.loads(given.request) for key, given in self.inputs.items()}
        return Trial(status, result or {}, error or {}, asked, tuple(self._progress), tuple(self.steps))

    def _answer(self, one: Asked) -> bytes | None:
        if one.input_key not in self._answers:
            return None
        answer = self._answers[one.input_key]
        is_form = orjson.loads(one.request)["method"] == "elicitation/create"
        return orjson.dumps({"action": "accept", "content": answer} if is_form and "action" not in answer else answer)


def _claim(
    tool: Tool,
    run_number: int,
    record: _Record,
    arguments: Mapping[str, Any],
    owner: Owner,
    capabilities: Mapping[str, Any],
) -> Claim:
    return Claim(
        task_id=TASK_ID,
        run_id=f"{TASK_ID}.{run_number}",
        run_number=run_number,
        tool=tool.name,
        owner=owner,
        arguments=json.dumps(arguments).encode(),
        capabilities=orjson.dumps(capabilities),
        trace=b"{}",
        created_ms=0,
        expires_ms=0,
        steps=dict(record.steps),
        inputs=dict(record.inputs),
    )


def _raises(fault: WorkersError) -> Callable[[], Any]:
    def raises() -> Any:
        raise fault

    return raises
