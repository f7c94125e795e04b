"""What a tool's function has in hand while it runs."""

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
"""Progress that comes sooner after the last one is not written."""

AGAIN = "#"
"""Stands between an author's key and the number of its repetition, so that no author's key can be one of ours."""

TIMED_OUT = -32603
"""The JSON-RPC code of a task whose input did not come in time, where the tool chose to fail."""


class Context:
    """The run's side of a task: what was kept by earlier runs, and what this one wants to keep, ask and tell.

    Every method is a checkpoint: where a cancel takes hold (`Cancelled`), where a run that lost its lease stops
    (`Superseded`), and where a worker that shuts down takes its runs back (`HandedBack`). All three are
    BaseExceptions, so `finally` blocks run and `except Exception` does not eat them.
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
        """The id that the client holds."""
        return self._claim.task_id

    @property
    def run_number(self) -> int:
        """1 for the first run of this task."""
        return self._claim.run_number

    @property
    def owner(self) -> Owner:
        """Tenant and principal that the task belongs to."""
        return self._claim.owner

    @property
    def trace(self) -> dict[str, str]:
        """The caller's W3C trace context: `traceparent`, `tracestate`, `baggage`, as far as the call carried them."""
        trace: dict[str, str] = orjson.loads(self._claim.trace or b"{}")
        return trace

    def check_cancelled(self) -> None:
        """The run may go on; to be called in loops that do nothing else with the context."""
        self._lease.check()

    def progress(self, done: float, total: float | None = None, message: str = "") -> None:
        """The client sees the message with its next look; a synchronous caller gets a progress notification.

        Source: basic/patterns/progress.

        Raises:
            UnsendableValue: `done` or `total` is no number that JSON has.
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
        """The function's result, computed at most once to its end over all runs of the task.

        A step that was interrupted is the only work that can repeat. A function with a parameter `idempotency_key` gets
        a key that is the same in every repetition, for the world outside. The value that comes back has been through
        JSON, in the first run too, so that every run sees the same.

        Raises:
            StepRepeated: this run has used the key before.
            UnsendableValue: the key is no string, or the result has no form in JSON.
            StepTooLarge: the result is larger than a step may be.
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
        """The client's answer. Without one the run ends here, and a later run comes back to this line with it.

        A key that is asked again, in a loop or because the answer was rejected, gets a number: it is never used twice.

        Raises:
            MissingCapability: the client did not declare that it can be asked this.
            InvalidRequest: this may not be asked, of nobody.
        """
        return self.ask_all({key: request})[key]

    def ask_all(self, requests: Mapping[str, InputRequest]) -> dict[str, Answer]:
        """The answers to several inputs, asked at once; as `ask`."""
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
        """The input that this call of `ask` stands for now: key, what was given, why an earlier answer failed."""
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
        """The verdict on an answer; given here when no accept came by, because its chord was lost."""
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
    """Return the key as it is kept. A later run would not find the result of a step whose key is no string."""
    plain: object = jsonable(key, where="the key of a step")
    if not isinstance(plain, str):
        raise UnsendableValue("the key of a step", f"it is {type(key).__name__}, not a string")
    return plain


def judge(given: Given) -> tuple[Verdict, str]:
    """What the author's validator says of an answer: accepted, or rejected and why.

    Only an accepted form has content to judge. What the validator raises besides ValueError is not caught.
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
