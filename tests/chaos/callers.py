"""The clients: they call, poll and answer through whichever front door lives, and remember every handle they got."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

import httpx

from tests.chaos.tools import INPUT
from tests.support.client import TERMINAL, Client, Reply

IDEMPOTENCY_KEY = "io.coatcheck/idempotencyKey"

PAUSE_SECONDS = 0.1
"""Between two tries after a failed one, and between two rounds of polls."""


@dataclass
class Ticket:
    """One call: what is known of its task."""

    number: int
    at: float
    """When to call, on the machine's clock."""
    key: str = ""
    """The idempotency key, or nothing."""
    task_id: str = ""
    """The first handle that came."""
    task: dict[str, Any] = field(default_factory=dict)
    """What was seen last."""

    @property
    def has_ended(self) -> bool:
        """The task was seen in a terminal status."""
        return self.task.get("status") in TERMINAL

    @property
    def is_right(self) -> bool:
        """The task was completed with what its tool makes of the call and the answer."""
        result = self.task.get("result", {}).get("structuredContent")
        steps = [self.number + 1, self.number + 2, self.number + 3]
        expected = {"number": self.number, "answer": answer_to(self.number), "steps": steps}
        return self.task.get("status") == "completed" and result == expected


def answer_to(number: int) -> int:
    """The answer to the call with this number."""
    return number * 7


class Caller(threading.Thread):
    """One client with its share of the calls."""

    def __init__(self, urls: Sequence[str], tickets: Sequence[Ticket], time_is_up: threading.Event) -> None:
        super().__init__(name=f"caller-{tickets[0].number}", daemon=True)
        self.tickets = tickets
        self.faults: list[str] = []
        """Answers that must not be: neither a result nor a temporary refusal."""
        self.refusals = 0
        """How often no front door could serve a request: 503, or no answer at all."""
        self._urls = cycle(urls)
        self._time_is_up = time_is_up

    def run(self) -> None:
        """Every task of this client was seen to its end, or time is up."""
        self._client = Client(next(self._urls), timeout=10.0)
        while not self._time_is_up.is_set() and not all(ticket.has_ended for ticket in self.tickets):
            now = time.monotonic()
            for ticket in self.tickets:
                if not ticket.task_id and ticket.at <= now:
                    self._call(ticket)
                elif ticket.task_id and not ticket.has_ended:
                    self._look(ticket)
            self._time_is_up.wait(PAUSE_SECONDS)
        self._client.close()

    def _call(self, ticket: Ticket) -> None:
        meta = {IDEMPOTENCY_KEY: ticket.key} if ticket.key else {}
        reply = self._ask(lambda client: client.call("errand", {"number": ticket.number}, meta=meta))
        if reply is not None:
            ticket.task_id = reply.result["taskId"]

    def _look(self, ticket: Ticket) -> None:
        reply = self._ask(lambda client: client.get(ticket.task_id))
        if reply is None:
            return
        ticket.task = reply.result
        if ticket.task["status"] == "input_required":
            answer = {"action": "accept", "content": {INPUT: answer_to(ticket.number)}}
            self._ask(lambda client: client.update(ticket.task_id, {INPUT: answer}))

    def _ask(self, send: Callable[[Client], Reply]) -> Reply | None:
        """The reply with a result, once a front door gives one; None when time is up or the reply must not be."""
        while not self._time_is_up.is_set():
            try:
                reply = send(self._client)
            except (httpx.TransportError, ValueError):  # killed before, or in the middle of, its answer
                reply = None
            if reply is not None and reply.status == 200 and "result" in reply.body:
                return reply
            if reply is not None and not _is_temporary(reply):
                self.faults.append(f"{reply.status} {reply.body}")
                return None
            self.refusals += 1
            self._client.close()
            self._client = Client(next(self._urls), timeout=10.0)
            self._time_is_up.wait(PAUSE_SECONDS)
        return None


def _is_temporary(reply: Reply) -> bool:
    """A JSON-RPC error that says "not now", and when to come back."""
    return reply.status == 503 and "error" in reply.body and "Retry-After" in reply.headers
