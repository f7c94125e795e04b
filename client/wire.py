"""One server, asked over the official SDK: sessions, tries, and what their failures mean."""

import math
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, NoReturn, Self, TypeVar

import anyio
import httpx2
from anyio.streams.memory import MemoryObjectSendStream
from mcp.client.extension import NotificationBinding
from mcp.client.session import ClientSession, IncomingMessage, MessageHandlerFnT
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import (
    CONNECTION_CLOSED,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REQUEST_TIMEOUT,
    UNSUPPORTED_PROTOCOL_VERSION,
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    DiscoverResult,
    EmptyResult,
    Implementation,
    InputRequiredResult,
    PaginatedRequestParams,
    Request,
    SubscriptionsAcknowledgedNotification,
    Tool,
)
from pydantic import BaseModel, ValidationError

from coatcheck.client.errors import (
    AnswerLost,
    AnswerTooLarge,
    Busy,
    Misunderstood,
    Refused,
    ServerError,
    TasksNotOffered,
    UnknownTicket,
    Unreachable,
    UnsupportedServer,
    leaf,
)
from coatcheck.client.models import (
    CALL_ANSWER,
    TASKS,
    CancelTask,
    GetTask,
    Listen,
    ListenParams,
    Task,
    TaskFilter,
    TaskParams,
    UpdateTask,
    UpdateTaskParams,
)
from coatcheck.client.retry_policy import RetryPolicy
from coatcheck.client.tokens import Token
from coatcheck.client.transport import MAX_ANSWER_BYTES, EndpointClient, checked_url, is_too_large
from coatcheck.client.version import client_version

T = TypeVar("T")
ResultT = TypeVar("ResultT", bound=BaseModel)

OnTrouble = Callable[[ServerError, float], None]
"""Hears of each failure that is tried again, and after how many seconds."""

IDEMPOTENCY: Final = "io.coatcheck/idempotency"
"""The extension by which a server says that it honours idempotency keys."""

MAX_PAGES: Final = 1_000
"""How many pages of tools are read of a server whose cursors never end."""

ACKNOWLEDGED_WITHIN_S: Final = 10.0
"""How long a server may take to say that it will tell of a task's changes."""


class Wire:
    """What one server can be asked, each request tried again for as long as that is safe and there is patience."""

    def __init__(
        self,
        url: str,
        *,
        token: Token | None,
        can_answer: Collection[str],
        patience_s: float,
        on_trouble: OnTrouble | None,
    ) -> None:
        self.server = checked_url(url)
        self._can_answer = can_answer
        self._patience_s = patience_s
        self._on_trouble = on_trouble or (lambda _fault, _pause_s: None)
        self._http = EndpointClient(url, token)
        self._discovered: DiscoverResult | None = None
        self.was_reached = False
        """The server has answered; it is known to stand at this address."""
        self._has_streams = True

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._http.__aexit__(kind, error, traceback)

    async def discover(self) -> DiscoverResult:
        """What the server says of itself. Source: server/discover."""
        return await self._exchange(lambda session: session.discover())

    async def honours_keys(self) -> bool:
        """A call may be repeated with its key without starting the work twice."""
        return _honours_keys(await self.discover())

    async def tools(self) -> list[Tool]:
        """All tools, over all pages. Source: server/tools, "Listing Tools"."""
        return await self._exchange(self._all_tools)

    async def call(
        self, params: CallToolRequestParams, *, is_repeatable: bool
    ) -> CallToolResult | InputRequiredResult | Task:
        """The answer to a `tools/call`. Raises AnswerLost when it may have been served and must not be repeated."""

        async def act(session: ClientSession) -> CallToolResult | InputRequiredResult | Task:
            request = CallToolRequest(params=params)
            try:
                return await session.send_request(request, CALL_ANSWER)
            except MCPError as fault:
                if fault.code != HEADER_MISMATCH:
                    raise
            # Some argument has to be mirrored in a header, which the session does for the tools that it has listed.
            await self._all_tools(session)
            return await session.send_request(request, CALL_ANSWER)

        return await self._exchange(act, is_repeatable=is_repeatable)

    async def get(self, task_id: str, patience: RetryPolicy | None = None) -> Task:
        """The task as it stands. Raises UnknownTicket."""
        return await self._about(task_id, GetTask(params=TaskParams(task_id=task_id)), Task, patience)

    async def update(self, params: UpdateTaskParams) -> None:
        """The server has the answers; the same ones a second time change nothing. Raises UnknownTicket."""
        await self._about(params.task_id, UpdateTask(params=params), EmptyResult)

    async def cancel(self, task_id: str) -> None:
        """The server knows that the task shall end. Raises UnknownTicket."""
        await self._about(task_id, CancelTask(params=TaskParams(task_id=task_id)), EmptyResult)

    async def follow(self, task_id: str, see: Callable[[Task], Awaitable[bool]]) -> bool:
        """`see` got each change of the task until it returned False, or the stream ended or broke.

        Nothing is repeated here: whoever follows looks at the task afterwards. Returns False when there was no stream,
        and costs nothing from then on when the server has none of tasks.

        Source: ext-tasks, tasks.md, "Task Status Notifications".
        """
        if not self._has_streams:
            return False
        send, receive = anyio.create_memory_object_stream[Task](100)
        acknowledged = anyio.Event()
        limit = anyio.CancelScope(deadline=anyio.current_time() + ACKNOWLEDGED_WITHIN_S)

        async def hear(message: IncomingMessage) -> None:
            if isinstance(message, SubscriptionsAcknowledgedNotification):
                extra = message.params.notifications.model_extra or {}
                if task_id in (extra.get("taskIds") or ()):
                    acknowledged.set()
                    limit.deadline = math.inf
                else:
                    limit.cancel()

        async def act(session: ClientSession) -> None:
            async with anyio.create_task_group() as group:
                group.start_soon(_listen, session, task_id, send)
                with limit:
                    async for task in receive:
                        if not await see(task):
                            break
                group.cancel_scope.cancel()

        async def tell(task: Task) -> None:
            with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
                await send.send(task)

        binding = NotificationBinding(method="notifications/tasks", params_type=Task, handler=tell)
        with send, receive:
            try:
                await self._attempt(act, hear, binding)
                self._has_streams = acknowledged.is_set()
            except Refused as fault:
                self._has_streams = fault.code != METHOD_NOT_FOUND
            except ServerError:
                pass  # the stream broke, or there was none to be had at the moment: the next look tells more
        return acknowledged.is_set()

    async def _about(
        self, task_id: str, request: Request[Any, Any], kind: type[ResultT], patience: RetryPolicy | None = None
    ) -> ResultT:
        try:
            return await self._exchange(lambda session: session.send_request(request, kind), patience=patience)
        except Refused as fault:
            if fault.code == METHOD_NOT_FOUND:
                raise TasksNotOffered(self.server) from fault
            if fault.code == INVALID_PARAMS and not isinstance(request, UpdateTask):
                raise UnknownTicket(task_id, self.server) from fault
            raise

    async def _exchange(
        self,
        act: Callable[[ClientSession], Awaitable[T]],
        *,
        is_repeatable: bool = True,
        patience: RetryPolicy | None = None,
    ) -> T:
        """What `act` returned in the first try that was answered.

        A server that never answered is not waited for, unless the caller brings the patience: its address may be wrong.
        """
        waits_for_first = patience is not None
        patience = patience or RetryPolicy(self._patience_s)
        may_have_been_served = False
        while True:
            try:
                return await self._attempt(act)
            except ServerError as error:
                fault = error
            may_have_been_served |= fault.may_have_been_served
            fault.may_have_been_served = may_have_been_served
            is_passing = (
                isinstance(fault, Busy)
                or (isinstance(fault, Unreachable) and (self.was_reached or waits_for_first))
                or (isinstance(fault, AnswerLost) and is_repeatable)
            )
            pause_s = patience.pause_s(fault.retry_after_s if isinstance(fault, Busy) else None)
            if pause_s is None or not is_passing:
                raise fault
            self._on_trouble(fault, pause_s)
            await anyio.sleep(pause_s)

    async def _attempt(
        self,
        act: Callable[[ClientSession], Awaitable[T]],
        hear: MessageHandlerFnT | None = None,
        *bindings: NotificationBinding[Task],
    ) -> T:
        """One session, which costs no request once the server was discovered: nothing is kept between requests.

        Source: basic/versioning.
        """
        await self._http.ready()
        try:
            async with (
                streamable_http_client(
                    self.server, http_client=self._http, max_sse_event_size=MAX_ANSWER_BYTES
                ) as streams,
                ClientSession(
                    *streams,
                    elicitation_callback=_unused if "elicitation" in self._can_answer else None,
                    sampling_callback=_unused if "sampling" in self._can_answer else None,
                    list_roots_callback=_unused if "roots" in self._can_answer else None,
                    message_handler=hear,
                    client_info=Implementation(name="coatcheck-client", version=client_version()),
                    extensions={TASKS: {}},
                    notification_bindings=bindings,
                ) as session,
            ):
                await self._greet(session)
                answer = await act(session)
        except BaseExceptionGroup as group:
            self._translate(leaf(group))
        except (MCPError, ValidationError, httpx2.RequestError) as fault:
            self._translate(fault)
        self.was_reached = True
        return answer

    async def _all_tools(self, session: ClientSession) -> list[Tool]:
        tools: list[Tool] = []
        cursor, size = None, 0
        for _ in range(MAX_PAGES):
            page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            tools += page.tools
            cursor = page.next_cursor
            if cursor is None:
                break
            size += len(page.model_dump_json())
            if size > MAX_ANSWER_BYTES:
                raise AnswerTooLarge(self.server, MAX_ANSWER_BYTES)
        return tools

    async def _greet(self, session: ClientSession) -> None:
        if self._discovered is not None:
            session.adopt(self._discovered)
            return
        try:
            self._discovered = await session.discover()
        except MCPError as fault:
            # Older servers know no such method, or miss what they were promised by `initialize`.
            if fault.code in (METHOD_NOT_FOUND, INVALID_PARAMS, INVALID_REQUEST, UNSUPPORTED_PROTOCOL_VERSION):
                raise UnsupportedServer(self.server, self._http.hidden(_spoken(fault.data))) from fault
            raise
        except RuntimeError as fault:
            raise UnsupportedServer(self.server, "") from fault
        self.was_reached = True

    def _translate(self, fault: BaseException) -> NoReturn:
        """Raises what the fault means here; one that is not from a library as it is."""
        if isinstance(fault, httpx2.RequestError):
            raise self._http.server_error(fault) from fault
        if isinstance(fault, ValidationError):
            raise Misunderstood(self.server, self._http.hidden(_first_line(fault))) from fault
        if isinstance(fault, MCPError):
            if fault.code == CONNECTION_CLOSED and is_too_large(fault.message):
                raise AnswerTooLarge(self.server, MAX_ANSWER_BYTES) from fault
            if fault.code in (CONNECTION_CLOSED, REQUEST_TIMEOUT):
                raise AnswerLost(self.server, self._http.hidden(fault.message)) from fault
            if fault.code == PARSE_ERROR:
                raise Misunderstood(self.server, self._http.hidden(fault.message)) from fault
            raise Refused(fault.code, self._http.hidden(fault.message.rstrip(".")), fault.data) from fault
        raise fault


async def _listen(session: ClientSession, task_id: str, send: MemoryObjectSendStream[Task]) -> None:
    """The stream has ended. The session hands its notifications over elsewhere."""
    with send:
        params = ListenParams(notifications=TaskFilter(task_ids=[task_id]))
        await session.send_request(Listen(params=params), EmptyResult)


async def _unused(*_arguments: Any, **_named: Any) -> Any:
    """Stands for a callback, whose presence alone declares a capability; inputs are answered by the ticket's holder."""
    raise NotImplementedError


def _honours_keys(discovered: DiscoverResult) -> bool:
    return IDEMPOTENCY in (discovered.capabilities.extensions or {})


def _spoken(data: object) -> str:
    supported = data.get("supported") if isinstance(data, dict) else None
    return f" but {', '.join(map(str, supported))}" if isinstance(supported, list) and supported else ""


def _first_line(fault: ValidationError) -> str:
    first = fault.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else first["msg"]
