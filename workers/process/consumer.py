"""The worker's consumer, which drops and logs a message that is not one of Celery's.

Anyone who can write to the broker can put anything into a queue. In Celery and kombu the exception would end the
worker's loop, and the restarted worker would get the same message again.
"""

import logging
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import celery.worker.consumer
from kombu.transport import redis, virtual

from coatcheck.workers.toolkit.json_schema import compile_schema, faults_of
from coatcheck.workers.toolkit.texts import sendable

logger = logging.getLogger(__name__)

UNREADABLE: Final = (ValueError, TypeError, KeyError, RecursionError)
"""What kombu raises for bytes that are not a message. Errors of the connection are other exceptions."""

_TEXT: Final = {"type": ["string", "null"]}
_LIMIT: Final = {"type": ["number", "null"], "minimum": 0, "maximum": 2**31}

HEADERS: Final = {
    "type": "object",
    "required": ["task", "id"],
    "properties": {
        "task": {"type": "string", "minLength": 1},
        "id": {"type": "string", "minLength": 1},
        "timelimit": {"type": ["array", "null"], "items": _LIMIT, "minItems": 2, "maxItems": 2},
        "retries": {"type": ["integer", "null"]},
        "group_index": {"type": ["integer", "null"]},
        "ignore_result": {"type": ["boolean", "null"]},
        "stamped_headers": {"type": ["array", "null"]},
        "stamps": {"type": ["object", "null"]},
        **dict.fromkeys(
            ("eta", "expires", "group", "root_id", "parent_id", "shadow", "argsrepr", "kwargsrepr", "origin"), _TEXT
        ),
    },
}
"""The headers that Celery reads. Source: Celery, "Message Protocol", version 2."""

_HEADERS: Final = compile_schema(HEADERS)
_READ: Final = frozenset(HEADERS["properties"])


class UnreadableMessage(ValueError):
    """Bytes in a queue are not a message of kombu."""


class Consumer(celery.worker.consumer.Consumer):
    """Celery's consumer, except that no message can end it."""

    connection_errors: tuple[type[Exception], ...]
    channel_errors: tuple[type[Exception], ...]

    def ensure_connected(self, conn: Any) -> Any:
        """Return the connection, with channels that drop what they cannot read."""
        transport: Any = conn.transport
        if isinstance(transport, redis.Transport):
            channel: Any = type(transport).Channel
            transport.Channel = _careful(channel)
        return super().ensure_connected(conn)

    def create_task_handler(self, *args: Any, **kwargs: Any) -> Callable[[Any], None]:
        """Return Celery's handler of messages, which gets valid messages only."""
        handle = super().create_task_handler(*args, **kwargs)

        def handled(message: Any) -> None:
            if fault := fault_of(message):
                self._throw_away(message, fault)
                return
            try:
                handle(message)
            except (*self.connection_errors, *self.channel_errors):
                raise
            except Exception as fault:  # noqa: BLE001 - no message may end the worker
                self._throw_away(message, f"{type(fault).__name__}: {fault}")

        return handled

    def on_invalid_task(self, body: object, message: Any, exc: Exception) -> None:
        """Drop a message that Celery finds invalid."""
        self._throw_away(message, str(exc))

    def on_decode_error(self, message: Any, exc: Exception) -> None:
        """Drop a message whose body kombu cannot read."""
        self._throw_away(message, f"its body cannot be read: {type(exc).__name__}: {exc}")

    def _throw_away(self, message: Any, why: str) -> None:
        queue = (message.delivery_info or {}).get("routing_key", "?")
        headers = message.headers if isinstance(message.headers, dict) else {}
        _tell(f"{headers.get('id', 'without an id')} of the queue {queue}", why)
        if not message.acknowledged:
            message.reject_log_error(logger, self.connection_errors)


def fault_of(message: Any) -> str:
    """Return what is wrong with the headers or the body of a message; empty if nothing is."""
    headers = message.headers
    if not isinstance(headers, dict):
        return "its headers are no object"
    try:
        # The broker adds its own headers, whose values can have types that JSON does not have.
        if faults := faults_of(_HEADERS, {name: headers[name] for name in headers.keys() & _READ}, root="headers"):
            return "; ".join(faults)
        match message.payload:
            case [list() | tuple(), dict(), dict()]:
                return ""
    except Exception as fault:  # noqa: BLE001 - each encoding of a body raises its own exceptions
        return f"its body cannot be read: {type(fault).__name__}: {fault}"
    return "its body is not [arguments, keyword arguments, options]"


class _Message(virtual.Message):
    """A message from Redis with all parts that kombu and Celery read without a check."""

    def __init__(self, payload: Any, channel: Any = None, **kwargs: Any) -> None:
        try:
            super().__init__(payload, channel=channel, **kwargs)
        except Exception as fault:
            raise UnreadableMessage(f"{type(fault).__name__}: {fault}") from fault
        found: Any = self.delivery_info
        names = [found.get(name) for name in ("exchange", "routing_key")] if isinstance(found, dict) else [None]
        if not all(isinstance(name, str) for name in (self.delivery_tag, *names)):
            raise UnreadableMessage("its properties do not say how it was delivered")


@cache
def _careful(base: Any) -> Any:
    """Return a class of channels that drop what is not a message, from queues and broadcasts."""

    class Channel(base):  # type: ignore[misc]
        Message = _Message

        def _brpop_read(self, **options: Any) -> Any:
            return self._read(super()._brpop_read, **options)

        def _receive(self) -> Any:
            return self._read(super()._receive)

        def _read(self, read: Callable[..., Any], **options: Any) -> Any:
            try:
                return read(**options)
            except UNREADABLE as fault:
                _tell(f"of one of {', '.join(self._active_queues)}", str(fault))
                return True

    return Channel


def _tell(which: str, why: str) -> None:
    logger.error("A message of the broker is thrown away: the one %s. %s", sendable(which, 200), sendable(why, 500))
