"""The holder's side of one task."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

import anyio
import anyio.to_thread
from mcp_types import INVALID_PARAMS, CallToolResult, InputRequest, InputResponse

from coatcheck.client.deadline import Deadline, DeadlinePassed
from coatcheck.client.errors import (
    AnswerRefused,
    InputNeeded,
    NotFinished,
    Refused,
    TaskCancelled,
    TaskFailed,
    UnknownTicket,
    Unreachable,
    WaitedEnough,
)
from coatcheck.client.ledger import TOOL_ERROR, Ledger, expires_ms
from coatcheck.client.models import Task, UpdateTaskParams
from coatcheck.client.retry_policy import RetryPolicy, poll_pause_s
from coatcheck.client.wire import Wire

T = TypeVar("T")

AskAsync = Callable[[str, InputRequest], Awaitable[InputResponse | None]]
"""Gets an input's key and request; gives the answer, or None when nobody answers now."""

SeeAsync = Callable[[Task], Awaitable[None]]
"""Hears of a task's new state."""

STEADY_S: Final = 10.0
"""A stream that lived for so long did not end at once."""

STREAM_PAUSE_S: Final = 0.02
"""The pause after a stream that ended at once is twice as long, and doubles with each that follows."""


@dataclass(frozen=True, slots=True)
class Holder:
    """What all tickets of one server share."""

    wire: Wire
    ledger: Ledger
    outage_s: float


class AsyncTicket:
    """One task. Everything about it is with the server; what must not be forgotten here is in the ledger."""

    def __init__(self, holder: Holder, task_id: str, tool: str = "", created_ms: int = 0) -> None:
        self.task_id = task_id
        self.tool = tool
        """The tool that was called; empty when the ledger does not know."""
        self.created_ms = created_ms
        self._holder = holder
        self._last: tuple[str, int | None] | None = None
        self._answered: set[str] = set()
        self._short_streams = 0

    @property
    def server(self) -> str:
        """The address of the server that has the task."""
        return self._holder.wire.server

    async def status(self) -> Task:
        """The task as it stands. Raises UnknownTicket."""
        return await self._look()

    async def result(self) -> CallToolResult:
        """What the task led to; `is_error` says whether the tool takes it for an error.

        Raises:
            NotFinished, TaskFailed, TaskCancelled, UnknownTicket: there is no result.
        """
        return _result_of(await self._look())

    async def answer(self, key: str, response: InputResponse) -> None:
        """The server has the answer, and the input is not asked here again. An answer that comes late changes nothing.

        Raises:
            AnswerRefused: it does not fit what was asked.
            UnknownTicket: there is no such task.
        """
        await self.answer_all({key: response})

    async def answer_all(self, responses: Mapping[str, InputResponse]) -> None:
        """The same for several inputs at once: all of them, or none."""
        try:
            await self._holder.wire.update(UpdateTaskParams(task_id=self.task_id, input_responses=dict(responses)))
        except Refused as fault:
            if fault.code != INVALID_PARAMS:
                raise
            await self._look()  # the same code means that there is no such task
            raise AnswerRefused(", ".join(responses), fault.message) from fault
        self._answered.update(responses)
        await _in_thread(partial(self._holder.ledger.answered, self.server, self.task_id, list(responses)))

    async def cancel(self) -> None:
        """The server knows that the task shall end. A finished one stays as it is. Raises UnknownTicket."""
        async with self._known():
            await self._holder.wire.cancel(self.task_id)

    async def outstanding(self) -> Mapping[str, InputRequest]:
        """What the task asks and was not yet answered from here."""
        return await self._unanswered(await self._look())

    async def wait(
        self,
        *,
        on_input: AskAsync | None = None,
        on_status: SeeAsync | None = None,
        timeout_s: float | None = None,
    ) -> CallToolResult:
        """The task's result, when it has one; it may be waited for again at any time, from any process.

        `on_status` hears of every change that was seen, `on_input` is asked once for each input. The server may be away
        for as long as the client was told to bear, if it was ever there: it has answered this client, or has given
        the ticket. Nothing is cut off while `on_input` answers, which may take longer than `timeout_s`.

        Raises:
            InputNeeded: `on_input` is missing or gave no answer.
            TaskFailed, TaskCancelled: there will be no result.
            UnknownTicket: there is none for this caller.
            Unreachable: the server never answered.
            WaitedEnough: `timeout_s` has passed; the task goes on.
        """
        deadline = Deadline(timeout_s)
        patience = RetryPolicy(self._holder.outage_s, deadline)
        latest: Task | None = None

        async def show(task: Task) -> None:
            """Each state is shown once, and none after a later one: looks and streams overtake each other."""
            nonlocal latest
            if on_status is not None and (latest is None or _is_news(task, latest)):
                latest = task
                await on_status(task)

        is_known = await _in_thread(partial(self._holder.ledger.knows, self.server, self.task_id))
        while True:
            try:
                with deadline.limit():
                    task = await self._look(patience if is_known or self._holder.wire.was_reached else None)
                patience.reset()
                await show(task)
                if task.is_terminal:
                    return _result_of(task)
                if open_inputs := await self._unanswered(task):
                    await self._ask(open_inputs, on_input)
                    continue
                with deadline.limit():
                    await self._next(task, show)
            except DeadlinePassed as fault:
                if patience.is_failing or not self._holder.wire.was_reached:
                    raise Unreachable(self.server, f"no answer within {deadline.seconds:g} s") from fault
                raise WaitedEnough(self.task_id, deadline.seconds) from fault

    async def _ask(self, requests: Mapping[str, InputRequest], on_input: AskAsync | None) -> None:
        if on_input is None:
            raise InputNeeded(self.task_id, requests)
        for key, request in requests.items():
            if (response := await on_input(key, request)) is None:
                raise InputNeeded(self.task_id, requests)
            await self.answer(key, response)

    async def _next(self, task: Task, show: SeeAsync) -> None:
        """It is time to look again: something happened that matters, the stream ended, or the interval passed."""
        is_due = False

        async def see(changed: Task) -> bool:
            nonlocal is_due
            is_due = changed.is_terminal or bool(await self._unanswered(changed))
            if is_due:
                return False
            await show(changed)
            return True

        pause_s = poll_pause_s(task.poll_interval_ms)
        started = time.monotonic()
        is_followed = await self._holder.wire.follow(self.task_id, see)
        if is_due:
            return
        if is_followed:
            # It may have ended with the task, whose last change was overtaken by the end, or broken with its server. Or
            # it ends for no reason, over and over, which must not become a loop without a pause.
            is_steady = time.monotonic() > started + STEADY_S
            self._short_streams = 0 if is_steady else self._short_streams + 1
            pause_s = min(pause_s, STREAM_PAUSE_S * 2.0**self._short_streams)
        await anyio.sleep(pause_s)

    async def _unanswered(self, task: Task) -> dict[str, InputRequest]:
        """What the task asks, without what was answered from here: a server may list that for a while."""
        if not task.input_requests:
            return {}
        answered = self._answered | await _in_thread(
            partial(self._holder.ledger.answered_keys, self.server, self.task_id)
        )
        return {key: request for key, request in task.input_requests.items() if key not in answered}

    async def _look(self, patience: RetryPolicy | None = None) -> Task:
        ledger = self._holder.ledger
        async with self._known():
            task = await self._holder.wire.get(self.task_id, patience)
        created_ms = round(task.created_at.timestamp() * 1000)
        expires = expires_ms(created_ms, task.ttl_ms, is_terminal=task.is_terminal)
        status = TOOL_ERROR if task.has_tool_error else task.status
        if self._last != (seen := (status, task.ttl_ms)):
            await _in_thread(partial(ledger.saw, self.server, self.task_id, status, expires))
            self._last = seen
        return task

    @asynccontextmanager
    async def _known(self) -> AsyncIterator[None]:
        """What is asked inside is about a task that the server knows; one that it does not is told with its ticket."""
        try:
            yield
        except UnknownTicket as fault:
            self._last = None
            is_kept = await _in_thread(partial(self._holder.ledger.unknown, self.server, self.task_id))
            raise UnknownTicket(self.task_id, self.server, is_kept=is_kept) from fault


def _is_news(task: Task, latest: Task) -> bool:
    if task.last_updated_at != latest.last_updated_at:
        return task.last_updated_at > latest.last_updated_at
    return (task.status, task.status_message, task.progress) != (latest.status, latest.status_message, latest.progress)


def _result_of(task: Task) -> CallToolResult:
    if task.status == "completed" and task.result is not None:
        return task.result
    if task.status == "failed":
        if task.error is None:
            raise TaskFailed(task.task_id, 0, task.status_message or "no reason was given")
        raise TaskFailed(task.task_id, task.error.code, task.error.message, task.error.data)
    if task.status == "cancelled":
        raise TaskCancelled(task.task_id)
    raise NotFinished(task.task_id, task.status)


async def _in_thread(act: Callable[[], T]) -> T:
    """The ledger may have to wait for another process; the event loop does not."""
    return await anyio.to_thread.run_sync(act)
