"""What can be wrong with a tool, its arguments, its questions and its results, one exception each.

Messages are safe to put on the wire: they name places and reasons, never the value that was found there.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from typing import Any


class WorkersError(Exception):
    """The root of every error that this folder raises; a library's own exceptions stop below it."""


class ToolError(WorkersError):
    """An author's message for the model: the call completes with `isError: true`.

    `structured` goes along as `structuredContent` when it can be sent.
    """

    # Defaults, for a subclass that does not call `__init__`: its words are those of `str`.
    message: str = ""
    structured: object = None

    def __init__(self, message: str, *, structured: object = None) -> None:
        super().__init__(message)
        self.message = message
        self.structured = structured


class ProtocolError(WorkersError):
    """An author's JSON-RPC error: the task ends as `failed` with this code, message and data."""

    # As for ToolError.
    code: int = -32603
    message: str = ""
    data: object = None

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class ToolDefinitionError(WorkersError):
    """A tool is defined in a way that cannot be offered; raised when it is registered."""

    def __init__(self, tool: str, why: str) -> None:
        super().__init__(f"tool {tool!r}: {why}")
        self.tool = tool
        self.why = why


class ToolModuleError(WorkersError):
    """A module named in the settings gives no tools: it cannot be imported, or holds none."""

    def __init__(self, module: str, why: str) -> None:
        super().__init__(f"tool module {module!r}: {why}")
        self.module = module
        self.why = why


class UnsafeResults(WorkersError):
    """The result backend of exposed tasks unpickles what it reads: whoever writes there would run code here."""

    def __init__(self, backend: str) -> None:
        super().__init__(
            f"COATCHECK_EXPOSE_RESULT_BACKEND leads to a {backend}, which unpickles what it reads, so that code of the"
            " other application would run in this process; let its workers leave results in a Redis"
            " (docs/existing-celery.md)"
        )


class ToolFileError(WorkersError):
    """The file of exposed Celery tasks cannot be understood."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why


class InvalidRequest(WorkersError):
    """An input request may not be sent to a client."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class _Faults(WorkersError):
    """Several faults, each one line that starts with the place it was found at."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = list(faults)


class InvalidAnswer(_Faults):
    """A client's answer does not fit the input request it answers."""


class InvalidArguments(_Faults):
    """The arguments of a call do not fit the tool's input schema."""


class OutputMismatch(_Faults):
    """A tool returned a value that breaks its own output schema."""


class UnsendableValue(WorkersError):
    """A value has no faithful form in JSON; `where` is its place, such as `result.rows[3].price`."""

    def __init__(self, where: str, why: str) -> None:
        super().__init__(f"{where} cannot be sent: {why}")
        self.where = where
        self.why = why


class ResultTooLarge(UnsendableValue):
    """A result is larger than the limit; both sizes are in bytes of JSON."""

    def __init__(self, size: int, max_bytes: int) -> None:
        super().__init__("result", f"it is {size} bytes of JSON, and the limit is {max_bytes} bytes")
        self.size = size
        self.max_bytes = max_bytes


class MissingCapability(WorkersError):
    """A tool asks for something that its client did not declare; `required` is what it would have to declare."""

    def __init__(self, required: Mapping[str, Any]) -> None:
        super().__init__("the client did not declare a capability that this tool needs")
        self.required = dict(required)


class StepRepeated(WorkersError):
    """A run used the same step key twice."""

    def __init__(self, step: str) -> None:
        super().__init__(f"the step key {step!r} was used twice in one run; every step of a run has a key of its own")
        self.step = step


class StepTooLarge(WorkersError):
    """The result of a step is larger than the limit; both sizes are in bytes of JSON."""

    def __init__(self, step: str, size: int, max_bytes: int) -> None:
        super().__init__(f"the result of step {step!r} is {size} bytes of JSON, and the limit is {max_bytes} bytes")
        self.step = step
        self.size = size
        self.max_bytes = max_bytes


class BrokerUnavailable(WorkersError):
    """The broker did not take a message; the record says what is due, and the sweeper sends it later."""


class BrokerRefused(BrokerUnavailable):
    """The broker answers, and does not let this program do what it needs; the message says what."""


class ResultsUnavailable(WorkersError):
    """The result backend of another application did not answer; nothing is known of its tasks for now."""


class InterruptRun(BaseException):
    """The run ends here, between two lines of the author's code.

    A BaseException, so that an author's `except Exception` cannot swallow it; `finally` blocks run.
    """


class Cancelled(InterruptRun):
    """The client cancelled the task."""


class Superseded(InterruptRun):
    """The run lost its lease: another run owns the task now, and this one must not write."""


class Parked(InterruptRun):
    """The run stops for input; a later run continues from what is stored."""

    def __init__(self, input_keys: Sequence[str]) -> None:
        super().__init__(", ".join(input_keys))


class Delegated(InterruptRun):
    """The work is with another application's worker; the run has nothing more to do."""


class NotDelegated(InterruptRun):
    """The other application's broker does not answer: the run gives its lease back, and a later one tries again."""


class HandedBack(InterruptRun):
    """The worker is shutting down: the run gives its lease back, so that another worker starts the next."""


def places_of(error: BaseException) -> str:
    """The calls that led to an exception, on one line and without a value: its own words may quote one."""
    frames = traceback.extract_tb(error.__traceback__)
    return " > ".join(f"{frame.name} ({frame.filename.rpartition('/')[2]}:{frame.lineno})" for frame in frames)
