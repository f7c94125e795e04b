"""`tools/list` and `tools/call`."""

from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson
from marshmallow import fields

from coatcheck.tasks_store import NewTask, Owner, Task, TaskNotFound, Watch
from coatcheck.web.errors import InvalidParams, MissingClientCapability
from coatcheck.web.methods.discover import LIST_TTL_MS
from coatcheck.web.methods.tasks import check_knows_tasks
from coatcheck.web.protocol.call import Call, Params
from coatcheck.web.protocol.caller import Caller
from coatcheck.web.protocol.headers import check_params
from coatcheck.web.protocol.serialization import (
    Result,
    compact_json,
    create_task_result,
    input_required_result,
    list_tools_result,
)
from coatcheck.web.protocol.wording import counted
from coatcheck.web.server.threads import compute
from coatcheck.web.settings.web import ServerSettings
from coatcheck.web.streams.connections import Connections
from coatcheck.web.streams.waiting import Progress, until_at_rest
from coatcheck.web.tool_calls.calls import Calls
from coatcheck.web.tool_calls.first_inputs import FirstAnswers, collect_first_answers
from coatcheck.web.tool_calls.input_responses import check_askable, check_declared, checked_answers
from coatcheck.web.tool_calls.request_state import CallBinding, RequestState, StateSealer
from coatcheck.web.tool_calls.served_tools import TaskToolAdvice
from coatcheck.workers.toolkit.errors import InvalidArguments
from coatcheck.workers.toolkit.tool import Catalogue, Tool


class ListParams(Params):
    """Schema of the parameters of `tools/list`."""

    cursor = fields.String()


class CallParams(Params):
    """Schema of the parameters of `tools/call`."""

    name = fields.String(required=True)
    arguments = fields.Dict()
    input_responses = fields.Dict(data_key="inputResponses")
    request_state = fields.String(data_key="requestState")


LIST_PARAMS: Final = ListParams()
CALL_PARAMS: Final = CallParams()

MODEL_CAPABILITIES: Final[Mapping[str, object]] = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
"""Inputs that a model can answer through `task_answer`, whatever its client declares."""

NO_SUCH_TOOL: Final = "name: there is no tool of this name; tools/list has those there are"


class ListTools:
    """Lists the tools that the caller can use, always in the same order."""

    def __init__(
        self, catalogue: Catalogue, page_size: int, cache_scope: str, may_use: Callable[[Caller, Tool], bool]
    ) -> None:
        self._described = [(tool, tool.describe()) for tool in catalogue.tools]
        self._page_size = page_size
        self._cache_scope = cache_scope
        self._may_use = may_use

    def list(self, call: Call) -> dict[str, object]:
        """Return one page. The cursor is the last name of the page before, so it survives a deployment.

        Source: server/tools, "Listing Tools".
        """
        page, next_cursor = self.page(call)
        return list_tools_result(page, next_cursor, LIST_TTL_MS, self._cache_scope)

    def page(self, call: Call) -> tuple[Sequence[Mapping[str, object]], str]:
        """Return the tools of the requested page, and the cursor of the next one or an empty string."""
        usable = [described for tool, described in self._described if self._may_use(call.caller, tool)]
        start = 0
        if (cursor := call.params(LIST_PARAMS).get("cursor")) is not None:
            start = _after(cursor, usable)
        page = usable[start : start + self._page_size]
        is_last = start + self._page_size >= len(usable)
        return page, "" if is_last else _cursor(page[-1])


@dataclass(frozen=True, slots=True)
class ParsedCall:
    """A `tools/call` with its parsed parameters."""

    call: Call
    tool: Tool
    arguments: Mapping[str, Any]
    idempotency_key: str
    responses: Mapping[str, object]
    binding: CallBinding

    @property
    def becomes_task(self) -> bool:
        """Tell whether the response is a task. Source: ext-tasks, tasks.md, "Capability Negotiation"."""
        return self.tool.mode in ("task", "task_only") and self.call.request.declares_tasks


@dataclass(frozen=True, slots=True)
class WaitingCall:
    """What is kept of a call while it waits. Everything whose size the client chooses is left out, or kept as bytes."""

    owner: Owner
    idempotency_key: str
    capabilities: bytes
    salt: str
    """The salt of the binding, which holds the arguments."""

    @classmethod
    def of(cls, called: ParsedCall) -> "WaitingCall":
        """Return what is kept of this call."""
        return cls(
            called.call.owner,
            called.idempotency_key,
            compact_json(called.call.request.capabilities),
            compute(lambda: called.binding.salt),
        )


class CallTool:
    """Calls tools: as a task if the client supports tasks, by waiting for the job, or in this process."""

    def __init__(
        self,
        catalogue: Catalogue,
        settings: ServerSettings,
        connections: Callable[[], Connections],
        calls: Calls,
        sealer: StateSealer,
    ) -> None:
        self._catalogue = catalogue
        self._settings = settings
        self._connections = connections
        self._calls = calls
        self._sealer = sealer
        self._advice = TaskToolAdvice.by(catalogue)

    def call(self, call: Call) -> Result | Progress:
        """Return the result, a task or an input request, or the generator that waits for one.

        Source: server/tools, "Calling Tools"; ext-tasks, tasks.md, "Task Creation"; basic/patterns/mrtr.
        """
        params = call.params(CALL_PARAMS)
        tool = self._catalogue.get(params["name"])
        if tool is None:
            raise InvalidParams(NO_SUCH_TOOL)
        arguments = params.get("arguments", {})
        check_params(tool.header_params, arguments, call.header)
        check_declared(tool.requires, call.request.capabilities)
        if tool.mode == "task_only":
            check_knows_tasks(call)
        called = ParsedCall(
            call,
            tool,
            arguments,
            call.request.idempotency_key,
            params.get("input_responses", {}),
            CallBinding(call.owner, tool.name, arguments),
        )
        if faults := self._calls.faults(tool, arguments):
            return self._calls.wrong_arguments(faults)
        state = RequestState()
        if (sealed := params.get("request_state")) is not None:
            state = self._sealer.open(called.binding.salt, sealed)
        if state.task_id:
            return self._resumed(called, state.task_id)
        if tool.mode == "inline":
            return self._calls.inline(call, tool, arguments)
        return self._begun(called, state)

    def _begun(self, called: ParsedCall, state: RequestState) -> Result | Progress:
        """Start the job, or return the request for first inputs that are still missing."""
        declared = called.call.request.capabilities
        try:
            first = collect_first_answers(
                called.tool,
                called.arguments,
                state,
                called.responses,
                declared,
                called.binding,
                self._sealer,
                self._calls.author_code,
            )
        except InvalidArguments as fault:
            return self._calls.wrong_arguments(fault.faults)
        if not isinstance(first, FirstAnswers):
            return first
        new = self._calls.new_task(called.call, called.tool, called.arguments, first.answers)
        if not called.becomes_task:
            return self._awaited(WaitingCall.of(called), self._answerable(called, new))
        if self._settings.web.grace_ms:
            return self._result_or_task(new)
        return create_task_result(self._calls.create_and_start(new))

    def _result_or_task(self, new: NewTask) -> Progress:
        """Return the result if the job ends within the grace period, else the task. A disconnect does not cancel the
        job."""
        with self._calls.slot_if_free(new.owner) as may_wait, self._calls.create_and_watch(new) as (task, watch):
            grace_s = self._settings.web.grace_ms / 1000 if may_wait else 0
            read = self._calls.reader(new.owner, task.task_id)
            del new  # its arguments can be large
            seen = yield from until_at_rest(task, read, watch, grace_s)
        if seen is not None and seen.status.is_terminal:
            return self._calls.final_result(seen)
        return create_task_result(seen or task)

    def _awaited(self, awaited: WaitingCall, new: NewTask) -> Progress:
        with self._calls.slot(new.owner), self._calls.create_and_watch(new) as (task, watch):
            del new  # its arguments can be large
            return (yield from self._at_rest(awaited, task, watch))

    def _answerable(self, called: ParsedCall, new: NewTask) -> NewTask:
        """Return the task with the capabilities of its client, and those of a model that can use `task_answer`."""
        if not self._advice.can_answer:
            return new
        declared = called.call.request.capabilities
        answerable = {**MODEL_CAPABILITIES, **declared, "elicitation": MODEL_CAPABILITIES["elicitation"]}
        return replace(new, capabilities=compact_json(answerable))

    def _resumed(self, called: ParsedCall, task_id: str) -> Progress:
        """Store the answers of this retry and wait for the job; keys that are not open are ignored."""
        owner = called.call.owner
        with self._calls.slot(owner), self._connections().feed.watch(task_id) as watch:
            try:
                task = self._connections().store.get(owner, task_id)
                answers = checked_answers(task.input_requests, called.responses)
                if answers:
                    self._calls.jobs.answer(owner, task_id, answers)
                    task = self._connections().store.get(owner, task_id)
            except TaskNotFound as fault:
                raise InvalidParams("requestState is no longer valid; call again without it") from fault
            awaited = WaitingCall.of(called)
            del called, answers
            return (yield from self._at_rest(awaited, task, watch))

    def _at_rest(self, awaited: WaitingCall, task: Task, watch: Watch) -> Progress:
        """Wait for the task, and return its result or what the caller can do after the time limit."""
        owner, key = awaited.owner, awaited.idempotency_key
        read = self._calls.reader(owner, task.task_id)
        with self._calls.cancelled_if_left(owner, task.task_id, key):
            seen = yield from until_at_rest(task, read, watch, self._settings.web.sync_ms / 1000)
        if seen is not None:
            return self._result_of(awaited, seen)
        limit_s = self._settings.web.sync_ms / 1000
        limit = f"The tool did not finish within {counted(limit_s, 'second')}, the limit of a waiting call"
        if self._advice.can_follow:
            return self._calls.tool_error(f"{limit}. {self._advice.in_words(task.task_id)}")
        if key:
            return self._calls.tool_error(
                f"{limit}. It goes on; call again with the same idempotency key for its result."
            )
        self._calls.jobs.cancel(owner, task.task_id)
        return self._calls.tool_error(
            f"{limit}. It was cancelled; ask for less at once, or use a client that knows tasks."
        )

    def _result_of(self, awaited: WaitingCall, task: Task) -> Result:
        """Return the result of a task at rest for a synchronous caller: its end, or its open inputs."""
        if task.status.is_terminal:
            return self._calls.final_result(task)
        try:
            check_askable(task.input_requests, orjson.loads(awaited.capabilities))
        except MissingClientCapability:
            if not self._advice.can_answer:
                raise
            how = self._advice.in_words(task.task_id)
            return self._calls.tool_error(f"The tool asks what this client cannot be asked. {how}")
        state = RequestState(task_id=task.task_id, round=" ".join(task.input_requests))
        return input_required_result(task.input_requests, self._sealer.seal(awaited.salt, state))


def _after(cursor: str, tools: Sequence[Mapping[str, object]]) -> int:
    for number, tool in enumerate(tools, 1):
        if _cursor(tool) == cursor:
            return number
    raise InvalidParams("cursor: is not one that this server gave")


def _cursor(tool: Mapping[str, object]) -> str:
    """Return the cursor of the page that begins after this tool."""
    return urlsafe_b64encode(str(tool["name"]).encode()).decode()
