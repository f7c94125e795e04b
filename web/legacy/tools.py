"""`tools/list` and `tools/call`."""

import time
from collections.abc import Generator
from dataclasses import replace
from typing import Final

import orjson
from marshmallow import ValidationError, fields

from coatcheck.tasks_store import NewTask, Task, Watch
from coatcheck.web.errors import InvalidParams
from coatcheck.web.legacy.inputs import can_be_asked, request_message
from coatcheck.web.legacy.request import LegacyRequest
from coatcheck.web.legacy.responses import LegacyResult, LegacyWait, task_support_error
from coatcheck.web.legacy.revisions import Revision
from coatcheck.web.legacy.serialization import (
    legacy_call_result,
    legacy_create_task_result,
    legacy_list_tools_result,
    legacy_tool,
)
from coatcheck.web.methods.tools import MODEL_CAPABILITIES, NO_SUCH_TOOL, ListTools
from coatcheck.web.protocol.call import Params
from coatcheck.web.protocol.serialization import Result, compact_json
from coatcheck.web.protocol.wording import counted
from coatcheck.web.rpc.progress_notifications import ProgressNotifications
from coatcheck.web.settings.web import ServerSettings
from coatcheck.web.streams.waiting import Progress, until
from coatcheck.web.tool_calls.calls import Calls
from coatcheck.web.tool_calls.input_responses import check_declared
from coatcheck.web.tool_calls.served_tools import TaskToolAdvice
from coatcheck.workers.toolkit.tool import Catalogue, Mode

MIN_TTL_MS: Final = 1_000
"""Minimum TTL in milliseconds: with a shorter one, a task expires before its client's first poll."""


TOO_LONG_ADVICE: Final = "ask for less at once, or use a client that knows tasks"
"""Advice for a call that exceeded its time limit."""


def _check_life(ttl: object) -> None:
    if isinstance(ttl, bool) or not isinstance(ttl, int | float) or ttl < 1:
        raise ValidationError("is a positive number of milliseconds")


class TaskMetadataParams(Params):
    """Schema of the `task` parameter."""

    ttl = fields.Raw(allow_none=True, validate=_check_life)


class LegacyCallParams(Params):
    """Schema of the parameters of `tools/call`."""

    name = fields.String(required=True)
    arguments = fields.Dict()
    task = fields.Nested(TaskMetadataParams)


LEGACY_CALL_PARAMS: Final = LegacyCallParams()


class LegacyTools:
    """Lists and calls tools: as a task if the client requests it, by waiting for the job, or in this process."""

    def __init__(
        self,
        catalogue: Catalogue,
        settings: ServerSettings,
        lists: ListTools,
        calls: Calls,
    ) -> None:
        self._catalogue = catalogue
        self._lists = lists
        self._calls = calls
        self._advice = TaskToolAdvice.by(catalogue)
        self._settings = settings.web

    def list(self, request: LegacyRequest) -> LegacyResult:
        """Return one page of the tools that the client can call."""
        described, cursor = self._lists.page(request.call)
        told = [
            legacy_tool(request.revision, tool, mode)
            for tool in described
            if self._is_within_reach(request.revision, mode := self._mode_of(str(tool["name"])))
        ]
        return legacy_list_tools_result(told, cursor)

    def call(self, request: LegacyRequest) -> LegacyResult | LegacyWait:
        """Return the result or a task, or the generator that waits for the result.

        Source: 2025-11-25, server/tools, "Calling Tools"; basic/utilities/tasks, "Creating Tasks".
        """
        params = request.call.params(LEGACY_CALL_PARAMS)
        tool = self._catalogue.get(params["name"])
        if tool is None:
            raise InvalidParams(NO_SUCH_TOOL)
        task = params.get("task") if request.revision.has_tasks else None
        self._check_support(request.revision, tool.mode, is_task=task is not None)
        check_declared(tool.requires, request.call.request.capabilities)
        arguments = params.get("arguments", {})
        if faults := self._calls.faults(tool, arguments):
            return legacy_call_result(request.revision, self._calls.wrong_arguments(faults))
        if tool.mode == "inline":
            return _told(request, self._calls.inline(request.call, tool, arguments))
        # The job asks for first inputs once it has started: a legacy client can be asked at any time.
        new = self._calls.new_task(request.call, tool, arguments)
        if task is None:
            return self._awaited(request, self._answerable(new))
        return legacy_create_task_result(self._calls.create_and_start(_living_for(new, task.get("ttl"))))

    def _awaited(self, request: LegacyRequest, new: NewTask) -> LegacyWait:
        with (
            self._calls.slot(new.owner),
            self._calls.create_and_watch(new) as (task, watch),
            self._calls.cancelled_if_left(new.owner, task.task_id, new.idempotency_key),
        ):
            # What can be large is not kept while the call waits.
            request, new = replace(request, call=request.call.without_content), replace(new, arguments=b"")
            yield None
            return (yield from self._until_ended(request, new, task, watch))

    def _answerable(self, new: NewTask) -> NewTask:
        """Return the task with the capabilities of a model that can use `task_answer`, if that is offered."""
        return replace(new, capabilities=compact_json(MODEL_CAPABILITIES)) if self._advice.can_answer else new

    def _until_ended(self, request: LegacyRequest, new: NewTask, task: Task, watch: Watch) -> LegacyWait:
        """Wait for the result, and send each input of the job to the client once."""
        rising = ProgressNotifications(request.token)
        read = self._calls.reader(new.owner, task.task_id)
        limit_s = (self._settings.legacy_ms if request.takes_events else self._settings.sync_ms) / 1000
        deadline = time.monotonic() + limit_s
        told: set[str] = set()
        unshown: frozenset[str] = frozenset()

        def look() -> Task:
            nonlocal task, unshown
            task = read()
            if told & task.input_requests.keys():
                unshown = self._calls.unshown(task.task_id)
            return task

        def has_news(task: Task) -> bool:
            open_ = task.input_requests.keys()
            return task.status.is_terminal or bool(open_ - told) or bool(open_ & unshown)

        while True:
            seen = yield from rising.wrap(until(has_news, task, look, watch, deadline - time.monotonic()))
            if seen is None:
                limit = f"within {counted(limit_s, 'second')}"
                if told & task.input_requests.keys():
                    why = f"asks a question that this host did not answer {limit}; perhaps it cannot show it"
                    return self._unasked(request, new, task, f"The tool {why} ({_kinds(task)})")
                return self._given_up(request, new, task, f"The tool did not finish {limit}")
            task = seen
            if task.status.is_terminal:
                return legacy_call_result(request.revision, self._calls.final_result(task))
            for key, input_request in task.input_requests.items():
                is_asked = request.takes_events and can_be_asked(request.revision, input_request)
                if key in unshown or not is_asked:
                    return self._unasked(
                        request, new, task, f"The tool asks a question that this host cannot show ({_kinds(task)})"
                    )
                if key in told:
                    continue
                told.add(key)
                yield request_message(request.revision, task.task_id, key, input_request)

    def _unasked(self, request: LegacyRequest, new: NewTask, task: Task, why: str) -> LegacyResult:
        """Return the result of a call whose client cannot show an input."""
        instead = (
            "call it from a host that shows such questions, or have the operator offer task_status and task_answer"
            " (COATCHECK_COMPANIONS), by which a model can answer"
        )
        return self._given_up(request, new, task, why, instead)

    def _given_up(
        self, request: LegacyRequest, new: NewTask, task: Task, why: str, instead: str = TOO_LONG_ADVICE
    ) -> LegacyResult:
        """Return the result of a call that no longer waits: how to continue with the job, or that it was cancelled."""
        if self._advice.can_follow:
            how = self._advice.in_words(task.task_id)
        elif new.idempotency_key:
            how = "It goes on; call again with the same idempotency key for its result."
        else:
            self._calls.jobs.cancel(new.owner, task.task_id)
            how = f"It was cancelled; {instead}."
        return legacy_call_result(request.revision, self._calls.tool_error(f"{why}. {how}"))

    def _check_support(self, revision: Revision, mode: Mode, *, is_task: bool) -> None:
        """Check that the tool supports the requested kind of call."""
        if is_task and mode in ("sync", "inline"):
            raise task_support_error("This tool cannot be called as a task")
        if not is_task and mode == "task_only" and (revision.has_tasks or not self._advice.can_follow):
            raise task_support_error("This tool can only be called as a task")

    def _is_within_reach(self, revision: Revision, mode: Mode) -> bool:
        """Tell whether a client of this revision can call a tool with this mode."""
        return mode != "task_only" or revision.has_tasks or self._advice.can_follow

    def _mode_of(self, name: str) -> Mode:
        tool = self._catalogue.get(name)
        return "inline" if tool is None else tool.mode


def _kinds(task: Task) -> str:
    """Return the methods of the open inputs, comma-separated."""
    return ", ".join(sorted({orjson.loads(input_request)["method"] for input_request in task.input_requests.values()}))


def _told(request: LegacyRequest, given: Result | Progress) -> LegacyResult | LegacyWait:
    """Return the result of a tool that runs in this process, or the generator that waits for it."""
    if isinstance(given, Generator):
        return _waited_for(request, given)
    return legacy_call_result(request.revision, given)


def _waited_for(request: LegacyRequest, progress: Progress) -> LegacyWait:
    result = yield from ProgressNotifications(request.token).wrap(progress)
    return legacy_call_result(request.revision, result)


def _living_for(new: NewTask, ttl: float | None) -> NewTask:
    """Return the task with the TTL that the client requested, if that is shorter than the tool's own.

    Source: 2025-11-25, basic/utilities/tasks, "TTL and Resource Management".
    """
    if ttl is None or ttl >= new.ttl_ms:
        return new
    ttl_ms = min(new.ttl_ms, max(MIN_TTL_MS, int(ttl)))
    return replace(new, ttl_ms=ttl_ms, poll_interval_ms=min(new.poll_interval_ms, ttl_ms))
