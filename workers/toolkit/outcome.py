"""Convert what a tool's function returned or raised into the ending of its task."""

import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from billiard.exceptions import SoftTimeLimitExceeded

from coatcheck.tasks_store import INTERNAL_ERROR, Status, StoreError, TaskError
from coatcheck.workers.settings import WorkerSettings
from coatcheck.workers.toolkit.content import ToolResult
from coatcheck.workers.toolkit.errors import (
    InterruptRun,
    InvalidArguments,
    InvalidRequest,
    MissingCapability,
    OutputMismatch,
    ProtocolError,
    StepRepeated,
    StepTooLarge,
    ToolError,
    UnsendableValue,
    places_of,
)
from coatcheck.workers.toolkit.jsonable import MAX_INTEGER, jsonable
from coatcheck.workers.toolkit.results import completed, tool_error
from coatcheck.workers.toolkit.texts import sendable
from coatcheck.workers.toolkit.tool import Tool

logger = logging.getLogger(__name__)

MISSING_CAPABILITY = -32021
"""Source: schema, MissingRequiredClientCapabilityError."""


TIME_LIMIT = "The tool ran longer than its time limit"

TOOL_ERROR = "tool_error"
"""The outcome of a completed task whose result has `isError`, as operators see and count it."""


@dataclass(frozen=True, slots=True)
class Ending:
    """A terminal status with its result or error."""

    status: Status
    message: str
    result: bytes = b""
    """A complete CallToolResult as JSON; only if completed."""
    error: TaskError | None = None
    """Only if failed."""
    is_tool_error: bool = False
    """Whether the result has `isError`."""

    @property
    def outcome(self) -> str:
        """The status, or TOOL_ERROR, as operators see it."""
        return TOOL_ERROR if self.is_tool_error else self.status.value


def ending_of(tool: Tool, call: Callable[[], Any], settings: WorkerSettings, what: str) -> Ending:
    """Call the function and return the ending. Interrupts of the run and errors of the store are raised.

    An unexpected exception is logged under a reference, which is all that the client gets: no path, stack or value is
    sent.
    """
    try:
        value = call()
        is_error = isinstance(value, ToolResult) and value.is_error
        return _completed(completed(value, tool.output, **_form(settings)), is_error=is_error)
    except ToolError as error:
        return _refused(error.message or error, settings, structured=error.structured)
    except ProtocolError as error:
        return _failed(error.code, error.message or error, error.data, settings, what)
    except MissingCapability as error:
        return _failed(MISSING_CAPABILITY, error, {"requiredCapabilities": error.required}, settings, what)
    except InvalidArguments as error:
        return _refused("Invalid arguments: " + "; ".join(error.faults), settings)
    except (InvalidRequest, OutputMismatch, StepRepeated, StepTooLarge, UnsendableValue) as error:
        logger.error("%s: the tool is at fault: %s", what, sendable(error))
        return _refused(f"The tool {tool.name} is at fault: {error}", settings)
    except SoftTimeLimitExceeded:
        logger.error("%s: it ran longer than its time limit", what)
        return _failed(INTERNAL_ERROR, TIME_LIMIT, None, settings, what)
    except (StoreError, InterruptRun):
        raise
    except BaseException as error:  # any other exception would end a process or thread of the pool
        if (interrupt := _interrupt_in(error)) is not None:
            raise interrupt from None
        reference = secrets.token_hex(4)
        is_whole = settings.log_exceptions == "whole"
        raised = f"{type(error).__name__} [reference {reference}] at {places_of(error)}"
        if not is_whole:
            raised += "; COATCHECK_LOG_EXCEPTIONS=whole logs its words too, which may quote arguments"
        logger.error("%s: the tool raised %s", what, raised, exc_info=is_whole)
        return _refused(f"The tool {tool.name} failed unexpectedly. Reference: {reference}", settings)


def run_inline(tool: Tool, arguments: Mapping[str, Any], settings: WorkerSettings) -> Ending:
    """Run an inline tool in this process, without a record, and return its ending."""
    function = tool.function
    assert function is not None
    return ending_of(tool, lambda: function(**tool.arguments.load(arguments)), settings, f"inline tool {tool.name}")


def _interrupt_in(error: BaseException) -> InterruptRun | None:
    """Return the interrupt in an exception or a group, if any: a tool can call its context from asyncio tasks."""
    while isinstance(error, BaseExceptionGroup):
        own, _ = error.split(InterruptRun)
        if own is None:
            return None
        error = own.exceptions[0]
    return error if isinstance(error, InterruptRun) else None


def _form(settings: WorkerSettings) -> dict[str, Any]:
    return {"server_info": settings.server_info, "max_bytes": settings.max_result_bytes}


def _completed(result: bytes, *, is_error: bool) -> Ending:
    message = "Completed with an error" if is_error else "Completed"
    return Ending(Status.COMPLETED, message, result, is_tool_error=is_error)


def _refused(message: object, settings: WorkerSettings, structured: object = None) -> Ending:
    """Return a completed ending with an `isError` result. Source: ext-tasks, tasks.md, "Task Execution Errors"."""
    return _completed(tool_error(message, structured, **_form(settings)), is_error=True)


def _failed(code: object, message: object, data: object, settings: WorkerSettings, what: str) -> Ending:
    """Return a failed ending whose JSON-RPC error can be sent. Parts that cannot are logged and replaced."""
    if not isinstance(code, int) or isinstance(code, bool) or abs(code) > MAX_INTEGER:
        logger.error("%s: the code of a protocol error is no integer of 64 bits, so %s is sent", what, INTERNAL_ERROR)
        code = INTERNAL_ERROR
    text = sendable(message)
    return Ending(Status.FAILED, text, error=TaskError(int(code), text, _encoded(data, settings, what)))


def _encoded(data: object, settings: WorkerSettings, what: str) -> bytes | None:
    if data is None:
        return None
    try:
        encoded = orjson.dumps(jsonable(data, where="data"))
    except UnsendableValue as error:
        logger.error("%s: the data of a protocol error is left out: %s", what, sendable(error))
        return None
    if len(encoded) > settings.max_result_bytes:
        size = f"{len(encoded)} bytes of JSON, and the limit is {settings.max_result_bytes}"
        logger.error("%s: the data of a protocol error is left out: it is %s", what, size)
        return None
    return encoded
