"""Errors of tools, arguments, inputs, results and messages.

Messages are safe to send to a client: they name places and reasons, never a value.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from typing import Any


class WorkersError(Exception):
    """The base class of all errors of this folder. Exceptions of libraries do not leave the folder."""


class ToolError(WorkersError):
    """An author's message for the model: the call completes with `isError: true`.

    `structured` is sent as `structuredContent` if it can be converted to JSON.
    """

    # Defaults for a subclass that does not call `__init__`; its message is then `str(error)`.
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
    """A tool's definition is not valid; raised when the tool is registered."""

    def __init__(self, tool: str, why: str) -> None:
        super().__init__(f"tool {tool!r}: {why}")
        self.tool = tool
        self.why = why


class ToolModuleError(WorkersError):
    """A module named in the settings cannot be imported, or defines no tool."""

    def __init__(self, module: str, why: str) -> None:
        super().__init__(f"tool module {module!r}: {why}")
        self.module = module
        self.why = why


class UnsafeResults(WorkersError):
    """The result backend of exposed tasks unpickles what it reads, so anyone who can write to it can run code here."""

    def __init__(self, backend: str) -> None:
        super().__init__(
            f"COATCHECK_EXPOSE_RESULT_BACKEND leads to a {backend}, which unpickles what it reads, so that code of the"
            " other application would run in this process; let its workers leave results in a Redis"
            " (docs/existing-celery.md)"
        )


class ToolFileError(WorkersError):
    """The file of exposed Celery tasks is not valid."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why


class InvalidRequest(WorkersError):
    """An input request must not be sent to a client."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class _Faults(WorkersError):
    """The base class of errors with several faults, each a line that starts with its place."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("; ".join(faults))
        self.faults = list(faults)


class InvalidAnswer(_Faults):
    """A client's answer does not match the input request."""


class InvalidArguments(_Faults):
    """The arguments of a call do not match the tool's input schema."""


class OutputMismatch(_Faults):
    """A tool returned a value that does not match its output schema."""


class UnsendableValue(WorkersError):
    """A value cannot be represented in JSON; `where` is its place, such as `result.rows[3].price`."""

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
    """A tool needs a capability that the client did not declare; `required` is that capability."""

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
    """The broker did not accept a message. The record says that it is due, and the sweeper sends it later."""


class BrokerRefused(BrokerUnavailable):
    """The broker denies this program an operation, which the message names."""


class ResultsUnavailable(WorkersError):
    """The result backend of another application did not respond."""


class InterruptRun(BaseException):
    """Ends the run, between two lines of the author's code.

    A BaseException, so that an author's `except Exception` does not catch it; `finally` blocks run.
    """


class Cancelled(InterruptRun):
    """The client cancelled the task."""


class Superseded(InterruptRun):
    """The run lost its lease and must not write: another run owns the task."""


class Parked(InterruptRun):
    """The run needs an input; a later run continues from the stored steps and answers."""

    def __init__(self, input_keys: Sequence[str]) -> None:
        super().__init__(", ".join(input_keys))


class Delegated(InterruptRun):
    """The work was delegated to another application's worker."""


class NotDelegated(InterruptRun):
    """The other application's broker does not respond: the run is released, and a later one tries again."""


class HandedBack(InterruptRun):
    """The worker is shutting down: the run is released, so that another worker starts the next one."""


def places_of(error: BaseException) -> str:
    """Return the stack of an exception on one line, without its message, which can quote a value."""
    frames = traceback.extract_tb(error.__traceback__)
    return " > ".join(f"{frame.name} ({frame.filename.rpartition('/')[2]}:{frame.lineno})" for frame in frames)
