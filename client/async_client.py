"""The asynchronous client."""

import json
import secrets
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, cast

from anyio.to_thread import run_sync
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    DiscoverResult,
    InputRequests,
    InputRequiredResult,
    InputResponses,
    RequestParamsMeta,
    Tool,
)

from coatcheck.client.async_ticket import AskAsync, AsyncTicket, Holder
from coatcheck.client.deadline import Deadline, DeadlinePassed
from coatcheck.client.errors import (
    AnswerLost,
    AnswerTooLarge,
    CallUnanswered,
    ClientError,
    InputNeeded,
    LedgerError,
    ServerError,
    TicketNotKept,
    Unreachable,
)
from coatcheck.client.ledger import Entry, Ledger, expires_ms
from coatcheck.client.models import IDEMPOTENCY_KEY, Task, goes_on
from coatcheck.client.settings import ledger_path
from coatcheck.client.tokens import Token
from coatcheck.client.wire import OnTrouble, Wire

Answerable = Literal["elicitation", "sampling", "roots"]
"""What a client may declare that it can be asked."""

FORMS: tuple[Answerable, ...] = ("elicitation",)
"""Forms and pages, which a person answers."""

MAX_ROUNDS = 20
"""How often a tool may ask before its task begins."""


class AsyncCoatcheck:
    """A server whose tools may take long, and the tickets for what they do.

    Every call is in the ledger before it goes out, and its ticket before the call returns. Use it as an asynchronous
    context manager.
    """

    def __init__(
        self,
        url: str,
        *,
        token: Token | None = None,
        ledger: Path | None = None,
        can_answer: Collection[Answerable] = FORMS,
        keep_arguments: bool = False,
        patience_s: float = 30,
        outage_s: float = 600,
        on_trouble: OnTrouble | None = None,
    ) -> None:
        """Nothing is sent yet.

        `token` may be a function, which is asked again when its token is no longer accepted. `can_answer` says what
        tools may ask. `keep_arguments` stores the arguments of a call until its answer has come, so that `resume` can
        repeat it by itself. A request is tried again for `patience_s`, and a wait bears an outage of `outage_s`;
        `on_trouble` hears of each try that failed.
        """
        wire = Wire(url, token=token, can_answer=can_answer, patience_s=patience_s, on_trouble=on_trouble)
        self._wire = wire
        self._ledger = Ledger(ledger or ledger_path())
        self._holder = Holder(wire, self._ledger, outage_s)
        self._keep_arguments = keep_arguments

    @property
    def server(self) -> str:
        """The address of the server."""
        return self._wire.server

    async def __aenter__(self) -> Self:
        await self._wire.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._wire.__aexit__(kind, error, traceback)

    async def discover(self) -> DiscoverResult:
        """What the server says of itself."""
        return await self._wire.discover()

    async def tools(self) -> list[Tool]:
        """All tools of the server."""
        return await self._wire.tools()

    async def call(self, tool: str, /, **arguments: Any) -> CallToolResult | AsyncTicket:
        """The tool's result, or the ticket of the task that works on it. See `start`."""
        return await self.start(tool, arguments)

    async def start(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        idempotency_key: str = "",
        on_input: AskAsync | None = None,
        timeout_s: float | None = None,
    ) -> CallToolResult | AsyncTicket:
        """The tool's result, or the ticket of the task that works on it.

        A call that is repeated with its key is the same call, for a server that honours keys. `on_input` answers what
        the tool asks before it begins. A call whose result is that its work goes on stays in the ledger.

        Raises:
            AnswerLost: the call may have started, and the server does not say that it honours keys, or `timeout_s` has
                passed.
            InputNeeded: the tool asks, and nobody answered.
            Refused: the server takes no such call.
        """
        key = idempotency_key or secrets.token_hex(16)
        arguments = dict(arguments)
        kept = json.dumps(arguments) if self._keep_arguments else None
        is_new = await run_sync(self._ledger.send, self.server, tool, key, kept)
        try:
            answer = await self._call(tool, arguments, key, on_input, Deadline(timeout_s))
        except AnswerTooLarge:
            raise  # it would be so again; the ledger keeps the call, which may have started
        except ClientError as fault:
            if isinstance(fault, ServerError) and fault.may_have_been_served:
                why = fault.why if isinstance(fault, AnswerLost) else str(fault)
                raise AnswerLost(self.server, why, key) from fault
            if is_new:
                await run_sync(self._ledger.drop, self.server, key)
            raise
        if isinstance(answer, Task):
            return await self._kept(answer, tool, key)
        if not goes_on(answer):
            await run_sync(self._ledger.drop, self.server, key)
        return answer

    def ticket(self, task_id: str, tool: str = "") -> AsyncTicket:
        """The ticket of a task of this server, also one that was called elsewhere."""
        return AsyncTicket(self._holder, task_id, tool)

    async def tickets(self) -> list[AsyncTicket]:
        """The tickets of this server that the ledger knows, the oldest first."""
        return [
            AsyncTicket(self._holder, entry.task_id, entry.tool, entry.created_ms)
            for entry in await run_sync(self._ledger.entries)
            if entry.server == self.server and entry.task_id
        ]

    async def repeat(
        self, entry: Entry, on_input: AskAsync | None = None, timeout_s: float | None = None
    ) -> CallToolResult | AsyncTicket:
        """The call of an earlier process, whose answer never came, was made again with its key.

        Raises:
            CallUnanswered: it cannot be, since its arguments were not kept or the server does not honour keys.
        """
        if entry.arguments is None or not await self._wire.honours_keys():
            raise CallUnanswered(entry.tool, entry.idempotency_key)
        arguments = json.loads(entry.arguments)
        key = entry.idempotency_key
        return await self.start(entry.tool, arguments, idempotency_key=key, on_input=on_input, timeout_s=timeout_s)

    async def _call(
        self, tool: str, arguments: dict[str, Any], key: str, on_input: AskAsync | None, deadline: Deadline
    ) -> CallToolResult | Task:
        """The answer after all that the tool asks before it begins. Source: basic/patterns/mrtr."""
        try:
            with deadline.limit():
                is_repeatable = await self._wire.honours_keys()
        except DeadlinePassed as fault:
            raise Unreachable(self.server, f"no answer within {deadline.seconds:g} s") from fault
        responses: InputResponses | None = None
        state: str | None = None
        asked: InputRequests = {}
        for _ in range(MAX_ROUNDS):
            params = CallToolRequestParams(
                name=tool,
                arguments=arguments,
                input_responses=responses,
                request_state=state,
                _meta=cast("RequestParamsMeta", {IDEMPOTENCY_KEY: key}),
            )
            try:
                with deadline.limit():
                    answer = await self._wire.call(params, is_repeatable=is_repeatable)
            except DeadlinePassed as fault:
                raise AnswerLost(self.server, f"no answer within {deadline.seconds:g} s", key) from fault
            if not isinstance(answer, InputRequiredResult):
                return answer
            asked, responses, state = answer.input_requests or {}, {}, answer.request_state
            for input_key, request in asked.items():
                response = None if on_input is None else await on_input(input_key, request)
                if response is None:
                    raise InputNeeded("", asked)
                responses[input_key] = response
        raise InputNeeded("", asked)

    async def _kept(self, task: Task, tool: str, key: str) -> AsyncTicket:
        created_ms = round(task.created_at.timestamp() * 1000)
        expires = expires_ms(created_ms, task.ttl_ms, is_terminal=task.is_terminal)
        keep = partial(self._ledger.keep_ticket, self.server, key, task.task_id, task.status, expires)
        try:
            await run_sync(keep)
        except LedgerError as fault:
            raise TicketNotKept(task.task_id, self.server, fault) from fault
        return AsyncTicket(self._holder, task.task_id, tool, created_ms)
