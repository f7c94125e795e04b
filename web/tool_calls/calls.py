"""What every call of a tool needs, whoever makes it: a job that begins, a place to wait for it in, an end."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from typing import Any

import orjson

from coatcheck.tasks_store import NewTask, Owner, StoreError, StoreUnavailable, Task, TaskError, Watch
from coatcheck.web.errors import CallFailed, LimitReached, TooManyWaiting
from coatcheck.web.protocol.call import Call
from coatcheck.web.protocol.serialization import Result, compact_json
from coatcheck.web.server.threads import AuthorCodeThread, compute
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
    """Begins the jobs of calls, and makes room for those who wait for them."""

    def __init__(self, settings: ServerSettings, connections: ConnectionsOfProcess, jobs: Jobs) -> None:
        self._settings = settings
        self._connections = connections
        self._jobs = jobs
        self.author_code = AuthorCodeThread()

    def inline(self, call: Call, tool: Tool, arguments: Mapping[str, Any]) -> Result | Progress:
        """The result of a tool that runs here, or the wait for it. Raises CallFailed, and what a Served tool raises."""
        if isinstance(tool, ServedTool):
            return tool.serve(call, arguments)
        with self.slot(call.owner):
            ending = self.author_code.run(partial(run_inline, tool, arguments, self._settings.workers))
        self._connections.measures.count(RUNS, tool.name, ending.outcome)
        if ending.error is not None:
            raise call_failed(ending.error)
        return ending.result

    def faults(self, tool: Tool, arguments: Mapping[str, Any]) -> list[str]:
        """Return what is wrong with the arguments of a call, checked where it stops nobody else."""
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
        """The task that this call is going to be; `answers` as the store wants them."""
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
        """The task of a caller who does not wait. Raises as `Jobs.create`."""
        task, is_new = self._jobs.create(new)
        if is_new:
            self._jobs.start(new.owner, task)
        return task

    @contextmanager
    def create_and_watch(self, new: NewTask) -> Iterator[tuple[Task, Watch]]:
        """The task with all that happens to it, for a caller who waits. Raises as `Jobs.create`."""
        task, is_new = self._jobs.create(new)
        with self._connections().feed.watch(task.task_id) as watch:
            if is_new:
                self._jobs.start(new.owner, task)
            del new  # its arguments can be large, and the wait long
            yield task, watch

    def slot(self, owner: Owner) -> AbstractContextManager[None]:
        """Hold a place for a call that waits. Raises TooManyWaiting, LimitReached."""
        return self._connections().waiting.slot(owner)

    @contextmanager
    def slot_if_free(self, owner: Owner) -> Iterator[bool]:
        """Tell whether the call may wait for as long as the block lasts."""
        with ExitStack() as held:
            try:
                held.enter_context(self.slot(owner))
            except (TooManyWaiting, LimitReached):
                yield False
            else:
                yield True

    @contextmanager
    def cancelled_if_left(self, owner: Owner, task_id: str, idempotency_key: str) -> Iterator[None]:
        """A wait that is given up cancels the job, unless its caller can come back.

        An idempotency key says that the caller can: the same call finds the job again.
        """
        try:
            yield
        except GeneratorExit:
            if not idempotency_key:
                with suppress(StoreError):
                    self._jobs.cancel(owner, task_id)
            raise

    def reader(self, owner: Owner, task_id: str) -> Callable[[], Task]:
        """What reads the task as it stands."""
        return lambda: self._connections().store.get(owner, task_id)

    def unshown(self, task_id: str) -> frozenset[str]:
        """Return the inputs of the task that its client said it cannot show; none while the store is away."""
        with suppress(StoreUnavailable):
            return self._connections().store.unshown(task_id)
        return frozenset()

    def wrong_arguments(self, faults: Sequence[str]) -> bytes:
        """A result, not an error: the model that wrote the arguments can correct them. Source: server/tools."""
        return self.tool_error("Invalid arguments: " + "; ".join(faults))

    def tool_error(self, message: str) -> bytes:
        """A result that says what went wrong."""
        workers = self._settings.workers
        return tool_error(message, server_info=workers.server_info, max_bytes=workers.max_result_bytes)

    def final_result(self, task: Task) -> bytes:
        """The result that a task ended with. Raises CallFailed."""
        assert task.status.is_terminal
        if task.result is not None:
            return task.result
        if task.error is not None:
            raise call_failed(task.error)
        return self.tool_error("The call was cancelled before the tool had finished.")


def call_failed(error: TaskError) -> CallFailed:
    """The JSON-RPC error that a job ended with."""
    return CallFailed(error.code, error.message, error.data)
