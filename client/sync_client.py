"""The client for code that is not asynchronous: the same calls, each of which returns when it is done."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

from anyio.from_thread import BlockingPortal
from mcp_types import CallToolResult, DiscoverResult, InputRequest, InputResponse, Tool

from coatcheck.client.async_client import FORMS, Answerable, AsyncCoatcheck
from coatcheck.client.async_ticket import AsyncTicket
from coatcheck.client.ledger import Entry
from coatcheck.client.models import Task
from coatcheck.client.relay import PORTALS, Relay
from coatcheck.client.tokens import Token
from coatcheck.client.wire import OnTrouble

T = TypeVar("T")

Ask = Callable[[str, InputRequest], InputResponse | None]
"""Gets an input's key and request; gives the answer, or None when nobody answers now."""

See = Callable[[Task], None]
"""Hears of a task's new state."""


class Ticket:
    """One task. See AsyncTicket, whose methods these are."""

    def __init__(self, portal: BlockingPortal, ticket: AsyncTicket) -> None:
        self._portal = portal
        self._ticket = ticket

    @property
    def task_id(self) -> str:
        """What the server knows the task by."""
        return self._ticket.task_id

    @property
    def tool(self) -> str:
        """The tool that was called; empty when the ledger does not know."""
        return self._ticket.tool

    @property
    def server(self) -> str:
        """The address of the server that has the task."""
        return self._ticket.server

    @property
    def created_ms(self) -> int:
        """When the task was made, in ms since 1970; 0 when the ledger does not know."""
        return self._ticket.created_ms

    def status(self) -> Task:
        """The task as it stands."""
        return _run(self._portal, self._ticket.status)

    def result(self) -> CallToolResult:
        """What the task led to; raises when it has not ended, failed, or was cancelled."""
        return _run(self._portal, self._ticket.result)

    def answer(self, key: str, response: InputResponse) -> None:
        """The server has the answer, and the input is not asked here again."""
        _run(self._portal, partial(self._ticket.answer, key, response))

    def answer_all(self, responses: Mapping[str, InputResponse]) -> None:
        """The same for several inputs at once: all of them, or none."""
        _run(self._portal, partial(self._ticket.answer_all, responses))

    def outstanding(self) -> Mapping[str, InputRequest]:
        """What the task asks and was not yet answered from here."""
        return _run(self._portal, self._ticket.outstanding)

    def cancel(self) -> None:
        """The server knows that the task shall end."""
        _run(self._portal, self._ticket.cancel)

    def wait(
        self, *, on_input: Ask | None = None, on_status: See | None = None, timeout_s: float | None = None
    ) -> CallToolResult:
        """The task's result, when it has one. The callbacks run in this thread. An interrupt changes nothing."""
        (outcome,) = wait_all([self], on_input=_one(on_input), on_status=_one(on_status), timeout_s=timeout_s)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def job(
        self, relay: Relay, on_input: Ask | None, on_status: See | None, timeout_s: float | None
    ) -> Callable[[], Awaitable[CallToolResult]]:
        """Waits for the task when it is run in the relay."""
        return partial(
            self._ticket.wait,
            on_input=None if on_input is None else relay.here(on_input),
            on_status=None if on_status is None else relay.here(on_status),
            timeout_s=timeout_s,
        )


def wait_all(
    tickets: Sequence[Ticket],
    *,
    on_input: Callable[[Ticket, str, InputRequest], InputResponse | None] | None = None,
    on_status: Callable[[Ticket, Task], None] | None = None,
    timeout_s: float | None = None,
) -> list[CallToolResult | Exception]:
    """What each task led to, in the tickets' order, once all of them have ended or raised.

    The tickets may be of several servers. The callbacks run in this thread, one at a time.
    """
    with PORTALS as portal:
        relay = Relay(portal)
        return relay.run(
            [
                ticket.job(
                    relay,
                    None if on_input is None else partial(on_input, ticket),
                    None if on_status is None else partial(on_status, ticket),
                    timeout_s,
                )
                for ticket in tickets
            ]
        )


class Coatcheck:
    """A server whose tools may take long, and the tickets for what they do. See AsyncCoatcheck.

    Every call is in the ledger before it goes out, and its ticket before the call returns. Use it as a context manager,
    or close it. Any thread may use it.
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
        """Nothing is sent yet. `on_trouble` is called in another thread."""
        self._client = AsyncCoatcheck(
            url,
            token=token,
            ledger=ledger,
            can_answer=can_answer,
            keep_arguments=keep_arguments,
            patience_s=patience_s,
            outage_s=outage_s,
            on_trouble=on_trouble,
        )
        self._portal = PORTALS.__enter__()
        self._portal.call(self._client.__aenter__)

    @property
    def server(self) -> str:
        """The address of the server."""
        return self._client.server

    def close(self) -> None:
        """No connection is open."""
        self._portal.call(self._client.__aexit__, None, None, None)
        PORTALS.__exit__(None, None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def discover(self) -> DiscoverResult:
        """What the server says of itself."""
        return _run(self._portal, self._client.discover)

    def tools(self) -> list[Tool]:
        """All tools of the server."""
        return _run(self._portal, self._client.tools)

    def call(self, tool: str, /, **arguments: Any) -> CallToolResult | Ticket:
        """The tool's result, or the ticket of the task that works on it."""
        return self.start(tool, arguments)

    def start(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        *,
        idempotency_key: str = "",
        on_input: Ask | None = None,
        timeout_s: float | None = None,
    ) -> CallToolResult | Ticket:
        """The tool's result, or the ticket of the task that works on it; see AsyncCoatcheck.start."""
        relay = Relay(self._portal)
        asked = None if on_input is None else relay.here(on_input)
        keyed = partial(self._client.start, tool, arguments, idempotency_key=idempotency_key)
        return self._answer(relay, partial(keyed, on_input=asked, timeout_s=timeout_s))

    def repeat(
        self, entry: Entry, on_input: Ask | None = None, timeout_s: float | None = None
    ) -> CallToolResult | Ticket:
        """The call of an earlier process, whose answer never came, was made again with its key."""
        relay = Relay(self._portal)
        asked = None if on_input is None else relay.here(on_input)
        return self._answer(relay, partial(self._client.repeat, entry, asked, timeout_s))

    def ticket(self, task_id: str, tool: str = "") -> Ticket:
        """The ticket of a task of this server, also one that was called elsewhere."""
        return Ticket(self._portal, self._client.ticket(task_id, tool))

    def tickets(self) -> list[Ticket]:
        """The tickets of this server that the ledger knows, the oldest first."""
        return [Ticket(self._portal, ticket) for ticket in _run(self._portal, self._client.tickets)]

    def _answer(
        self, relay: Relay, call: Callable[[], Awaitable[CallToolResult | AsyncTicket]]
    ) -> CallToolResult | Ticket:
        (answer,) = relay.run([call])
        if isinstance(answer, Exception):
            raise answer
        return Ticket(self._portal, answer) if isinstance(answer, AsyncTicket) else answer


def _run(portal: BlockingPortal, act: Callable[[], Awaitable[T]]) -> T:
    """What `act` returns or raises; an interrupt cancels it."""
    (outcome,) = Relay(portal).run([act])
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _one(function: Callable[..., T] | None) -> Callable[..., T] | None:
    """The callback of a single ticket, which does not ask which ticket."""
    if function is None:
        return None
    return lambda _ticket, *arguments: function(*arguments)
