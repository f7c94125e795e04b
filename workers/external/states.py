"""Convert the state of another application's Celery task to an ending, or to the progress of the task."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson
from celery import states
from celery.exceptions import NotRegistered, Reject, TimeLimitExceeded

from coatcheck.tasks_store import INTERNAL_ERROR, Status, TaskError
from coatcheck.workers.messages.other_application import UNREADABLE, State
from coatcheck.workers.settings import WorkerSettings
from coatcheck.workers.toolkit.errors import ProtocolError, ToolError
from coatcheck.workers.toolkit.outcome import TIME_LIMIT, Ending, ending_of
from coatcheck.workers.toolkit.texts import sendable
from coatcheck.workers.toolkit.tool import Tool

RUNNING: Final = "Running"

MAX_WORDS: Final = 500
"""Characters of a message from the other application that is shown while the work continues."""

MAX_NUMBER: Final = 2**53
"""The largest number that all JSON readers read exactly. The comparison also excludes NaN."""

_DONE = ("current", "done", "progress")
_TOTAL = ("total",)
_MESSAGE = ("message", "status", "description")
"""Usual keys in the `meta` of a progress state. Celery's documentation uses `current` and `total`."""
_REASON = ("exc_message", "message", "error", "reason", "detail", "description", "status", "exc_type")
"""Usual keys of the reason in the `meta` of a custom failure, the best one first."""


@dataclass(frozen=True, slots=True)
class Told:
    """The progress of work that has not ended."""

    message: str
    """The status message; empty if the state has none."""
    progress: bytes = b""
    """The progress as JSON, for the feed."""


def ending_of_state(tool: Tool, state: State, settings: WorkerSettings, what: str) -> Ending | None:
    """Return the ending for the state, or None if the work has not ended."""
    if state.name in (states.PENDING, states.STARTED, states.RETRY, states.RECEIVED):
        return None
    if state.name == states.REVOKED:
        return Ending(Status.CANCELLED, "Cancelled")
    if state.name in (states.SUCCESS, states.FAILURE, UNREADABLE):
        return ending_of(tool, lambda: _returned(state), settings, what)
    return None


def told_of(state: State) -> Told:
    """Return the progress of work that has not ended."""
    match state.name, state.result:
        case states.PENDING, _:
            return Told("")
        case states.STARTED | states.RECEIVED, _:
            return Told(RUNNING)
        case states.RETRY, reason:
            return Told(_cut(f"It failed and will be tried again: {_words_of(reason)}"))
        case name, Mapping() as meta:
            return _progress(name, meta)
        case name, None:
            return Told(_cut(name))
        case name, meta:
            return Told(_cut(f"{name}: {meta}"))


def lost(message: str) -> Ending:
    """Return the ending of work that is lost."""
    return Ending(Status.FAILED, message, error=TaskError(INTERNAL_ERROR, message))


def unseen(tool: Tool, why: str, settings: WorkerSettings, what: str) -> Ending:
    """Return the ending of work that a worker took, and whose result this process cannot read."""

    def tell() -> None:
        raise ToolError(
            "The Celery task was handed over, and no queue and no worker has it any more, so its work may well be done;"
            f" but what became of it cannot be seen from here: {why}. Find out before calling it again."
        )

    return ending_of(tool, tell, settings, what)


def _returned(state: State) -> Any:
    """Return what the Celery task returned.

    Raises:
        ToolError: the Celery task raised an exception; with its message, without its traceback.
        ProtocolError: the Celery task did not finish, or its result cannot be read.
    """
    if state.name == UNREADABLE:
        raise ProtocolError(
            INTERNAL_ERROR, "The result of the Celery task cannot be read: it is not JSON as Celery writes it"
        )
    if state.name == states.SUCCESS:
        return state.result
    if isinstance(state.result, NotRegistered):
        raise ProtocolError(INTERNAL_ERROR, "The worker that took it knows no such Celery task")
    if isinstance(state.result, TimeLimitExceeded):
        raise ProtocolError(INTERNAL_ERROR, TIME_LIMIT)
    if isinstance(state.result, Reject):
        reason: Any = state.result.args[0]
        raise ToolError(f"The Celery task was rejected: {reason}")
    raise ToolError(_words_of(state.result))


def _progress(name: str, meta: Mapping[Any, Any]) -> Told:
    done, total, said = (_first(meta, names) for names in (_DONE, _TOTAL, _MESSAGE))
    message = _cut(str(said)) if said else ""
    if not _is_number(done):
        return Told(message or _cut(name))
    event: dict[str, object] = {"progress": done}
    shown = f"{done:g}"
    if _is_number(total):
        event["total"] = total
        shown = f"{done:g} of {total:g}"
    if message:
        event["message"] = message
    return Told(message or shown, orjson.dumps(event))


def _is_number(value: object) -> bool:
    """Return whether this is a number that all JSON readers accept."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_NUMBER


def _first(meta: Mapping[Any, Any], names: tuple[str, ...]) -> Any:
    return next((meta[name] for name in names if meta.get(name) is not None), None)


def _words_of(fault: object) -> str:
    """Return the message of an exception, or its name if it has none; or the reason in any other stored result."""
    if isinstance(fault, BaseException):
        return sendable(fault) or type(fault).__name__
    if isinstance(fault, Mapping):
        fault = _first(fault, _REASON) or fault
    if isinstance(fault, list) and len(fault) == 1:
        fault = fault[0]
    if isinstance(fault, str) and fault:
        return sendable(fault)
    return sendable(json.dumps(fault, default=str)) if fault else "no reason was given"


def _cut(text: str) -> str:
    return sendable(text, MAX_WORDS)
