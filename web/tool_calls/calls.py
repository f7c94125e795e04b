"""What every tool call needs: validation, the job, a slot to wait in, and the final result."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from typing import Any

import orjson

from coatcheck.tasks_store import NewTask, Owner, StoreError, StoreUnavailable, Task, TaskError, Watch
from coatcheck.web.errors import CallFailed, LimitReached, TooManyWaiting
from coatcheck.web.protocol.call import Call
from coatcheck.web.protocol.serialization import Result, compact_json
from coatcheck.web.server.threads import AuthorCodeThread, compute, is_cooperative
from coatcheck.web.settings.web import ServerSettings
from coatcheck.web.streams.connections import ConnectionsOfProcess
from coatcheck.web.streams.waiting import Progress
from coatcheck.web.tool_calls.jobs import Jobs
from coatcheck.web.tool_calls.served_tools import ServedTool
from coatcheck.workers.telemetry.metrics import RUNS
from coatcheck.workers.toolkit.outcome import run_inline
from coatcheck.workers.toolkit.results import tool_error
from coatcheck.workers.toolkit.tool import Tool


class Calls:
    """Starts the jobs of tool calls, and limits those that wait."""

    def __init__(self, settings: ServerSettings, connections: ConnectionsOfProcess, jobs: Jobs) -> None:
        self._settings = settings
        self._connections = connections
        self.jobs = jobs
        self.author_code = AuthorCodeThread()

    def inline(self, call: Call, tool: Tool, arguments: Mapping[str, Any]) -> Result | Progress:
        """Run a tool in this process. Raises CallFailed, and what a ServedTool raises."""
        if isinstance(tool, ServedTool):
            return tool.serve(call, arguments)
        with self.slot(call.owner) if is_cooperative() else nullcontext():  # else it is a request like any other
            ending = self.author_code.run(partial(run_inline, tool, arguments, self._settings.workers))
        self._connections.measures.count(RUNS, tool.name, ending.outcome)
        if ending.error is not None:
            raise call_failed(ending.error)
        return ending.result

    def faults(self, tool: Tool, arguments: Mapping[str, Any]) -> list[str]:
        """Return the faults of the arguments, checked where that does not block other requests."""
        if tool.arguments.runs_authors_code:
            return self.author_code.run(partial(tool.arguments.faults, arguments))
        return compute(tool.arguments.faults, arguments)

    def new_task(
        self,
        call: Call,
        tool: Tool,
        arguments: Mapping[str, Any],
        answers: Mapping[str, tuple[bytes, bytes]] | None = None,
    ) -> NewTask:
        """Return the task to create for this call; `answers` are in the form of the store."""
        request = call.request
        return NewTask(
            owner=call.owner,
            tool=tool.name,
            arguments=compute(compact_json, arguments),
            capabilities=compact_json(request.capabilities),
            ttl_ms=tool.ttl_ms,
            poll_interval_ms=tool.poll_interval_ms,
            max_runs=tool.max_runs or self._settings.workers.max_runs,
            trace=orjson.dumps(request.trace) if request.trace else b"",
            answers=answers or {},
            idempotency_key=request.idempotency_key,
        )

    def create_and_start(self, new: NewTask) -> Task:
        """Create the task of a caller who does not wait, and start its job. Raises as `Jobs.create`."""
        task, is_new = self.jobs.create(new)
        if is_new:
            self.jobs.start(new.owner, task)
        return task

    @contextmanager
    def create_and_watch(self, new: NewTask) -> Iterator[tuple[Task, Watch]]:
        """Create the task of a caller who waits, start its job, and watch it. Raises as `Jobs.create`."""
        task, is_new = self.jobs.create(new)
        with self._connections().feed.watch(task.task_id) as watch:
            if is_new:
                self.jobs.start(new.owner, task)
            del new  # its arguments can be large, and the wait long
            yield task, watch

    def slot(self, owner: Owner) -> AbstractContextManager[None]:
        """Hold a slot for a waiting call. Raises TooManyWaiting, LimitReached."""
        return self._connections().waiting.slot(owner)

    @contextmanager
    def slot_if_free(self, owner: Owner) -> Iterator[bool]:
        """Hold a slot for a waiting call, if one is free, and yield whether it is."""
        with ExitStack() as held:
            try:
                held.enter_context(self.slot(owner))
            except (TooManyWaiting, LimitReached):
                yield False
            else:
                yield True

    @contextmanager
    def cancelled_if_left(self, owner: Owner, task_id: str, idempotency_key: str) -> Iterator[None]:
        """Cancel the job when the caller disconnects, unless the call has an idempotency key.

        With a key the caller can repeat the call and find the job again.
        """
        try:
            yield
        except GeneratorExit:
            if not idempotency_key:
                with suppress(StoreError):
                    self.jobs.cancel(owner, task_id)
            raise

    def reader(self, owner: Owner, task_id: str) -> Callable[[], Task]:
        """Return a function that reads the task."""
        return lambda: self._connections().store.get(owner, task_id)

    def unshown(self, task_id: str) -> frozenset[str]:
        """Return the inputs that the task's client cannot show; empty while the store is unavailable."""
        with suppress(StoreUnavailable):
            return self._connections().store.unshown(task_id)
        return frozenset()

    def wrong_arguments(self, faults: Sequence[str]) -> bytes:
        """Return a tool error, not a JSON-RPC error: the model that wrote the arguments can correct them. Source:
        server/tools."""
        return self.tool_error("Invalid arguments: " + "; ".join(faults))

    def tool_error(self, message: str) -> bytes:
        """Return a result with `isError`."""
        workers = self._settings.workers
        return tool_error(message, server_info=workers.server_info, max_bytes=workers.max_result_bytes)

    def final_result(self, task: Task) -> bytes:
        """Return the result of an ended task. Raises CallFailed."""
        assert task.status.is_terminal
        if task.result is not None:
            return task.result
        if task.error is not None:
            raise call_failed(task.error)
        return self.tool_error("The call was cancelled before the tool had finished.")


def call_failed(error: TaskError) -> CallFailed:
    """Return the exception for a job's JSON-RPC error."""
    return CallFailed(error.code, error.message, error.data)
