"""The context of a run, which a tool's function gets as its first parameter."""

import inspect
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import orjson

from coatcheck.tasks_store import INPUT_KEY, Asked, Claim, Given, Owner, Point, TaskStore, Verdict, reach
from coatcheck.workers.runs.lease import Lease
from coatcheck.workers.runs.steps import decode, encode
from coatcheck.workers.toolkit.errors import (
    Cancelled,
    InvalidRequest,
    MissingCapability,
    Parked,
    ProtocolError,
    StepRepeated,
    UnsendableValue,
)
from coatcheck.workers.toolkit.inputs import Answer, InputRequest, load_validator, missing_capability
from coatcheck.workers.toolkit.jsonable import jsonable
from coatcheck.workers.toolkit.texts import sendable

T = TypeVar("T")

PROGRESS_SECONDS = 0.02
"""Progress within this time after the last report is not written."""

AGAIN = "#"
"""Separates an author's key from the number of its repetition. Authors' keys cannot contain it."""

TIMED_OUT = -32603
"""The JSON-RPC code of a task that fails at the time limit of an input."""


class Context:
    """Steps, inputs, progress and cancellation of a run.

    Every method is a checkpoint. It raises `Cancelled` after a cancel, `Superseded` if the run has lost its lease, and
    `HandedBack` if the worker shuts down. All three are BaseExceptions, so `finally` blocks run and `except Exception`
    does not catch them.
    """

    def __init__(self, claim: Claim, lease: Lease, store: TaskStore, max_step_bytes: int) -> None:
        self._claim = claim
        self._lease = lease
        self._store = store
        self._max_step_bytes = max_step_bytes
        self._inputs: dict[str, Given] = dict(claim.inputs)
        self._asked: Counter[str] = Counter()
        self._steps_used: set[str] = set()
        self._progress_at = 0.0

    @property
    def task_id(self) -> str:
        """The id of the task, which the client knows."""
        return self._claim.task_id

    @property
    def run_number(self) -> int:
        """The number of this run, from 1."""
        return self._claim.run_number

    @property
    def owner(self) -> Owner:
        """The tenant and the principal that the task belongs to."""
        return self._claim.owner

    @property
    def trace(self) -> dict[str, str]:
        """The caller's W3C trace context: `traceparent`, `tracestate` and `baggage`, if the call had them."""
        trace: dict[str, str] = orjson.loads(self._claim.trace or b"{}")
        return trace

    def check_cancelled(self) -> None:
        """Do nothing but check; for loops that do not use the context otherwise."""
        self._lease.check()

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """Report progress: the status message for polls, and a progress notification for a synchronous caller.

        Source: basic/patterns/progress.

        Raises:
            UnsendableValue: `done` or `total` is not a number that JSON can represent.
        """
        self._lease.check()
        now = time.monotonic()
        if now - self._progress_at < PROGRESS_SECONDS and done != total:
            return
        self._progress_at = now
        done = _number("progress", done)
        event: dict[str, object] = {"progress": done}
        if total is not None:
            total = event["total"] = _number("total", total)
        if message:
            message = event["message"] = sendable(message)
        shown = message or (f"{done:g}" if total is None else f"{done:g} of {total:g}")
        self._write(lambda: self._store.progress(self.task_id, self._lease.run_id, shown, orjson.dumps(event)))

    def step(self, key: str, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Return the stored result of the step, or call the function and store its result.

        Only a step that was interrupted is repeated. A function with a parameter `idempotency_key` gets a key that is
        the same in every repetition, for calls to other systems. The returned value has been converted to JSON and
        back, even in the first run, so that every run gets the same.

        Raises:
            StepRepeated: this run has already used the key.
            UnsendableValue: the key is not a string, or the result cannot be represented in JSON.
            StepTooLarge: the result is larger than the limit.
        """
        self._lease.check()
        key = _step_key(key)
        if key in self._steps_used:
            raise StepRepeated(key)
        self._steps_used.add(key)
        kept = self._claim.steps.get(key)
        if kept is None:
            if "idempotency_key" in inspect.signature(function).parameters:
                kwargs.setdefault("idempotency_key", f"{self.task_id}:{key}")
            kept = encode(key, function(*args, **kwargs), function, self._max_step_bytes)
            reach(Point.IN_STEP)
            result = kept
            self._write(lambda: self._store.keep_step(self.task_id, self._lease.run_id, key, result))
            reach(Point.STEP_KEPT)
        value: T = decode(kept, function)
        return value

    def ask(self, key: str, request: InputRequest) -> Answer:
        """Return the client's answer, or park the task until a later run has it.

        A key that is used again, in a loop or because the answer was rejected, gets a number, such as `amount#2`.

        Raises:
            MissingCapability: the client did not declare the capability for this input.
            InvalidRequest: the request must not be sent to any client.
        """
        return self.ask_all({key: request})[key]

    def ask_all(self, requests: Mapping[str, InputRequest]) -> dict[str, Answer]:
        """Return the answers to several inputs, which are asked for at once; as `ask`."""
        self._lease.check()
        for key in requests:
            if AGAIN in key or not INPUT_KEY.fullmatch(key):
                raise InvalidRequest(f"the key {key!r} is not 1 to 128 of A-Z a-z 0-9 _ - .")
        answers: dict[str, Answer] = {}
        missing: list[Asked] = []
        for key, request in requests.items():
            input_key, given, why = self._latest(key, request)
            if given is None:
                missing.append(self._to_ask(input_key, request, why))
            else:
                answers[key] = self._answer(request, given)
        if missing:
            self._park(missing)
        return answers

    def _latest(self, key: str, request: InputRequest) -> tuple[str, Given | None, str]:
        """Return the current input of this call of `ask`: key, state, and why the previous answer was rejected."""
        why = ""
        while True:
            self._asked[key] += 1
            number = self._asked[key]
            input_key = key if number == 1 else f"{key}{AGAIN}{number}"
            given = self._inputs.get(input_key)
            if given is None or given.answer is None:
                return input_key, None, why
            verdict, why = self._verdict(input_key, given, request)
            if verdict is not Verdict.REJECTED:
                return input_key, given, ""

    def _verdict(self, input_key: str, given: Given, request: InputRequest) -> tuple[Verdict, str]:
        """Return the verdict on an answer, and validate the answer if *accept* did not, because its chord was lost."""
        if given.verdict is not Verdict.UNCHECKED or not given.answer:
            return given.verdict, given.why
        verdict, why = judge(given)
        self._lease.write(lambda: self._store.accept(self.task_id, input_key, verdict, why))
        return verdict, why

    def _answer(self, request: InputRequest, given: Given) -> Answer:
        if given.answer:
            return Answer.from_wire(request.to_wire(), orjson.loads(given.answer))
        if request.at_limit == "fail":
            raise ProtocolError(TIMED_OUT, "The input was not given in time")
        lapsed = None if request.at_limit == "no_answer" else {"action": request.at_limit}
        return Answer.from_wire(request.to_wire(), lapsed)

    def _to_ask(self, input_key: str, request: InputRequest, why: str) -> Asked:
        wire = request.to_wire()
        lacking = missing_capability(wire, orjson.loads(self._claim.capabilities))
        if lacking is not None:
            raise MissingCapability(lacking)
        if why and "message" in wire["params"]:
            wire["params"]["message"] = f"{why}\n\n{wire['params']['message']}"
        text = orjson.dumps(wire)
        if len(text) > self._max_step_bytes:
            what = f"the input request {input_key} is {len(text)} bytes of JSON"
            raise InvalidRequest(f"{what}, and the limit is {self._max_step_bytes} bytes")
        return Asked(input_key, text, request.validator_ref, request.time_limit_ms or 0)

    def _park(self, missing: list[Asked]) -> None:
        if not self._lease.write(lambda: self._store.park(self.task_id, self._lease.run_id, missing)):
            raise Cancelled
        raise Parked(tuple(one.input_key for one in missing))

    def _write(self, write: Callable[[], bool]) -> None:
        self._lease.heard(self._lease.write(write))
        self._lease.check()


def _number(what: str, value: object) -> float:
    plain: object = jsonable(value, where=what, decimal=float)
    if isinstance(plain, bool) or not isinstance(plain, int | float):
        raise UnsendableValue(what, f"it is {type(value).__name__}, not a number")
    return plain


def _step_key(key: object) -> str:
    """Return the key as it is stored. With a key that is not a string, a later run would not find the result."""
    plain: object = jsonable(key, where="the key of a step")
    if not isinstance(plain, str):
        raise UnsendableValue("the key of a step", f"it is {type(key).__name__}, not a string")
    return plain


def judge(given: Given) -> tuple[Verdict, str]:
    """Return the verdict of the author's validator on an answer, and the reason of a rejection.

    Only an accepted form has content to validate. Exceptions of the validator other than ValueError are not caught.
    """
    answer = orjson.loads(given.answer or b"{}")
    if not given.validator or answer.get("action", "accept") != "accept":
        return Verdict.ACCEPTED, ""
    subject = answer.get("content", answer) if "action" in answer else answer
    try:
        load_validator(given.validator)(subject)
    except ValueError as refusal:
        return Verdict.REJECTED, sendable(refusal)
    return Verdict.ACCEPTED, ""
