"""What a line of the log looks like, and what it tells of the work that it is about.

Never arguments, answers, results or tokens: only the few facts that are named here.
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
"""For a person, and for a machine: one JSON object a line."""

TEXT: Final = "%(asctime)s %(levelname)s %(name)s: %(message)s"

Facts = Mapping[str, str | int]
"""`task_id`, `tool`, `run` and `method`, as far as they are known."""

_about: ContextVar[Facts] = ContextVar("coatcheck_about", default=MappingProxyType({}))


def begin() -> None:
    """What this thread does from now on is about something else, of which nothing is known yet."""
    _about.set({})


def know(**facts: str | int) -> None:
    """This is known too of what this thread does."""
    _about.set({**_about.get(), **facts})


@contextmanager
def about(**facts: str | int) -> Iterator[None]:
    """This is known of what this thread does in the block."""
    before = _about.set({**_about.get(), **facts})
    try:
        yield
    finally:
        _about.reset(before)


def facts_of_message(message_id: str, name: str = "") -> Facts:
    """What a message of ours says of the run that it starts: its id of the task, its Celery task's name of the tool."""
    task_id, _, number = message_id.partition(".")
    if not TASK_ID.fullmatch(task_id) or not number.isdecimal():
        return {}
    _, _, tool = name.partition(".")
    return {"task_id": task_id, **({"tool": tool} if tool else {}), "run": int(number)}


class JsonLines(OrjsonFormatter):
    """One JSON object a line, with what is known of the work."""

    def add_fields(self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]) -> None:
        """The fields of a line. What else a library hangs on its records may be anything, so it is left out."""
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
    """Lines of this logger look as the setting says; `text` is what whoever set it up has chosen."""
    if log_format == "json":
        for handler in logger.handlers:
            handler.setFormatter(JsonLines())


def _celerys_own(record: logging.LogRecord) -> Facts:
    """What Celery says of a message in a line of its own, as its main process does: received, succeeded, lost."""
    data = getattr(record, "data", None)
    if not isinstance(data, Mapping):
        return {}
    return facts_of_message(str(data.get("id", "")), str(data.get("name", "")))
