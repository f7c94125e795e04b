"""Format log lines, and add fields about the current work to them.

Only the fields named here are added, never arguments, answers, results or tokens.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Final

from pythonjsonlogger.orjson import OrjsonFormatter

from coatcheck.tasks_store.model import TASK_ID

FORMATS: Final = ("text", "json")
"""Plain text, and one JSON object per line."""

TEXT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"

Facts = Mapping[str, str | int]
"""The fields `task_id`, `tool`, `run` and `method`, as far as they are known."""

_about: ContextVar[Facts] = ContextVar("coatcheck_about", default=MappingProxyType({}))


def begin() -> None:
    """Remove all fields from the context of this thread or greenlet."""
    _about.set({})


def know(**facts: str | int) -> None:
    """Add fields to the context of this thread or greenlet."""
    _about.set({**_about.get(), **facts})


@contextmanager
def about(**facts: str | int) -> Iterator[None]:
    """Add fields to the context for the length of the block."""
    before = _about.set({**_about.get(), **facts})
    try:
        yield
    finally:
        _about.reset(before)


def facts_of_message(message_id: str, name: str = "") -> Facts:
    """Return the fields of the run that a message starts, from its id and the name of its Celery task."""
    task_id, _, number = message_id.partition(".")
    if not TASK_ID.fullmatch(task_id) or not number.isdecimal():
        return {}
    _, _, tool = name.partition(".")
    return {"task_id": task_id, **({"tool": tool} if tool else {}), "run": int(number)}


class JsonLines(OrjsonFormatter):
    """Formats a record as one line of JSON, with the fields of the context."""

    def add_fields(self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]) -> None:
        """Add the fields of the line. Other attributes of the record are omitted: libraries can set any."""
        log_data.update(message_dict)
        log_data.update(
            time=datetime.fromtimestamp(record.created, UTC),
            level=record.levelname,
            logger=record.name,
            message=record.message,
            process=record.process,
            **(_about.get() or _celerys_own(record)),
        )


def write_as(log_format: str, logger: logging.Logger) -> None:
    """Set the format of the logger's handlers; `text` leaves them unchanged."""
    if log_format == "json":
        for handler in logger.handlers:
            handler.setFormatter(JsonLines())


def _celerys_own(record: logging.LogRecord) -> Facts:
    """Return the fields of a message that Celery's own record names, as for received, succeeded and lost messages."""
    data = getattr(record, "data", None)
    if not isinstance(data, Mapping):
        return {}
    return facts_of_message(str(data.get("id", "")), str(data.get("name", "")))
