"""Access to another Celery application: send to its queues, inspect its workers, read its results.

Only what any sender of messages can do. Nothing of the other application is declared, consumed, purged or rerouted.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID, uuid5

from celery import Celery, states
from celery.backends.base import BaseKeyValueStoreBackend
from celery.exceptions import SecurityError
from kombu import Queue
from kombu.exceptions import ContentDisallowed, DecodeError, OperationalError

from coatcheck.tasks_store import INTERNAL_ERROR, StoreSettings
from coatcheck.tasks_store.per_process import PerProcess
from coatcheck.workers.addresses import address_of
from coatcheck.workers.messages.agreement import Worker, disagreements, unseen_result
from coatcheck.workers.messages.celery_app import lead
from coatcheck.workers.settings import WorkerSettings
from coatcheck.workers.toolkit.celery_task_context import CANCELLED
from coatcheck.workers.toolkit.errors import (
    BrokerUnavailable,
    ProtocolError,
    ResultsUnavailable,
    WorkersError,
)
from coatcheck.workers.toolkit.tool import Exposed

WORK: Final = UUID("7f0d8f6c-5c3a-4d0e-9a55-0b6a5f6d2d11")
"""The UUID namespace of message ids that are derived from task ids."""

UNREADABLE: Final = "UNREADABLE"
"""The state of a message whose result exists but cannot be read."""

ANSWER_SECONDS: Final = 1.0
"""Seconds to wait for the workers' replies to an inspection."""

CONNECT_SECONDS: Final = 2.0
"""Seconds that the broker may take to accept a connection."""

UNREADABLE_RESULTS: Final = (ContentDisallowed, DecodeError, SecurityError)
"""Celery's exceptions for a result that it must not or cannot decode."""


class UnreadableResult(WorkersError):
    """A result exists, but is not one that Celery writes as JSON."""


@dataclass(frozen=True, slots=True)
class State:
    """The state of a message in the result backend."""

    name: str
    """A state of Celery, or a custom one."""
    result: Any = None
    """The returned value; the exception; or the stored `meta`, for a custom state or instead of an exception."""


@dataclass(frozen=True, slots=True)
class Census:
    """The messages held by those workers that replied in time."""

    workers: int
    active: Collection[str]
    """The requested messages that are being executed."""
    waiting: Collection[str]
    """The requested messages that a worker has received and not started."""


def their_app(settings: WorkerSettings, store: StoreSettings) -> Celery:
    """Return an application that can send to the other one and inspect it."""
    broker = address_of(settings.expose_broker_url)
    results = address_of(settings.expose_result_backend)
    app = Celery("exposed", set_as_current=False)
    lead(app, broker, results)
    app.conf.update(
        broker_transport_options={**broker.options, **({} if broker.is_redis else {"confirm_publish": True})},
        broker_connection_timeout=CONNECT_SECONDS,
        # The servers can be unavailable for longer than a call should take; the next look tries again.
        result_backend_transport_options={"retry_policy": {"max_retries": 1}, **results.options},
        redis_socket_connect_timeout=CONNECT_SECONDS,
        redis_socket_timeout=CONNECT_SECONDS,
        task_send_sent_event=True,
    )
    if broker.is_tls:
        app.conf.broker_use_ssl = store.tls_options
    if results.is_tls:
        app.conf.redis_backend_use_ssl = store.tls_options
    if settings.expose_config:
        app.conf.update(json.loads(settings.expose_config))
    # Last, so that nothing but JSON is ever loaded, whatever the settings of the application accept.
    app.conf.update(task_serializer="json", accept_content=["json"], result_accept_content=["json"])
    return app


def message_id_of(task_id: str) -> str:
    """Return the id of the message with a task's work, the same however often it is sent."""
    return str(uuid5(WORK, task_id))


class Cluster:
    """Sends messages to another application's workers and reads their results.

    Methods raise BrokerUnavailable when the broker, and ResultsUnavailable when the result backend does not respond.
    """

    def __init__(self, settings: WorkerSettings, store: StoreSettings) -> None:
        self._settings = settings
        self._store = store
        self._confirms = settings.expose_broker_url.startswith("amqp")
        self._app_of_process = PerProcess(lambda: their_app(settings, store))

    @property
    def _app(self) -> Celery:
        """This process's application."""
        return self._app_of_process.get()

    def send(
        self,
        work: Exposed,
        message_id: str,
        arguments: Mapping[str, Any],
        headers: Mapping[str, str],
        expires_ms: int,
    ) -> None:
        """Send the message, which the worker drops after its expiry.

        Raises:
            ProtocolError: the queue does not exist, and the broker would drop the message.
        """
        # Redis creates a queue with its first message, but RabbitMQ drops a message for a queue that does not exist.
        if self._confirms and self._length(work.queue) is None:
            raise ProtocolError(INTERNAL_ERROR, f"Their broker has no queue {work.queue}")
        with self._connected() as connection:
            send_task: Any = self._app.send_task  # its type stub accepts only the name of a queue
            send_task(
                work.task,
                kwargs=dict(arguments),
                task_id=message_id,
                root_id=message_id,  # not the run that sends it, which is unknown to the other application
                queue=Queue(work.queue, no_declare=True),
                headers=dict(headers),
                expires=datetime.fromtimestamp(expires_ms / 1000, UTC),
                connection=connection,
                retry=False,
            )

    def state(self, message_id: str) -> State:
        """Return the state of a message; PENDING if nothing is known of it."""
        try:
            with _result_errors():
                backend: Any = self._app.backend
                backend.meta_from_decoded = _reader(backend.exception_to_python)
                meta = backend.get_task_meta(message_id, cache=False)
        except UnreadableResult:
            return State(UNREADABLE)
        return State(meta["status"], meta.get("result"))

    def cancel(self, message_id: str, *, terminate: bool) -> None:
        """Tell the workers to drop the message or, with `terminate`, to kill its process; and mark it as cancelled."""
        backend = self._app.backend
        if isinstance(backend, BaseKeyValueStoreBackend):
            with _result_errors():
                backend.set(backend.get_key_for_task(message_id, CANCELLED), b"1")
        with self._connected() as connection:
            self._app.control.revoke(message_id, terminate=terminate, signal="SIGTERM", connection=connection)

    def census(self, message_ids: Collection[str]) -> Census:
        """Return which of these messages the workers hold."""
        with self._connected() as connection:
            inspect: Any = self._app.control.inspect(timeout=ANSWER_SECONDS, connection=connection)
            replies = inspect.query_task(*message_ids) or {}
        held = [(message_id, how) for reply in replies.values() for message_id, (how, _) in reply.items()]
        return Census(
            workers=len(replies),
            active=frozenset(message_id for message_id, how in held if how == "active"),
            waiting=frozenset(message_id for message_id, how in held if how != "active"),
        )

    def workers(self) -> list[Worker]:
        """Return the reports of those workers that reply in time."""
        with self._connected() as connection:
            alive = len(self._app.control.ping(timeout=ANSWER_SECONDS, connection=connection) or ())
            if not alive:
                return []
            inspect: Any = self._app.control.inspect(timeout=ANSWER_SECONDS, limit=alive, connection=connection)
            queues, tasks, confs = (ask() or {} for ask in (inspect.active_queues, inspect.registered, inspect.conf))
        return [
            Worker(
                name,
                frozenset(queue["name"] for queue in queues.get(name) or ()),
                frozenset(task.partition(" ")[0] for task in tasks.get(name, ())),
                conf,
            )
            for name, conf in sorted(confs.items())
        ]

    def disagreements(self, works: Collection[Exposed]) -> list[tuple[str, bool]]:
        """Return the mismatches that would prevent calls of these from getting their results; see `agreement.py`."""
        return list(disagreements(works, self.workers(), *self._results))

    def unseen_result(self, work: Exposed) -> str:
        """Return why this process cannot read the result of this task; empty if it can."""
        return unseen_result(work, self.workers(), *self._results)

    @property
    def _results(self) -> tuple[str, object]:
        return self._settings.expose_result_backend, self._app.conf.result_backend_transport_options

    def is_idle(self, workers: int) -> bool:
        """Return whether none of `workers` workers holds any message."""
        with self._connected() as connection:
            # With a limit, the call returns as soon as all have replied.
            inspect = self._app.control.inspect(timeout=ANSWER_SECONDS, limit=workers, connection=connection)
            for ask in (inspect.active, inspect.reserved, inspect.scheduled):
                replies = ask()
                if not replies or any(replies.values()):
                    return False
        return True

    def backlog(self, queue: str) -> int:
        """Return the number of messages in this queue; 0 if it does not exist."""
        return self._length(queue) or 0

    def close(self) -> None:
        """Close the connections of this process."""
        if (app := self._app_of_process.pop()) is not None:
            app.close()

    def _length(self, queue: str) -> int | None:
        """Return the number of messages in this queue; None if it does not exist."""
        with self._connected() as connection:
            try:
                return int(connection.default_channel.queue_declare(queue, passive=True).message_count)
            except connection.channel_errors:
                return None

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """Open a new connection to the broker. A pooled one can be lost, and would fail at its first use."""
        connection: Any = self._app.connection_for_write()
        try:
            with connection:
                yield connection
        except (OperationalError, OSError, *connection.connection_errors) as fault:
            raise BrokerUnavailable(str(fault)) from fault


def _reader(rebuild: Callable[[Any], Any]) -> Callable[[Any], dict[str, Any]]:
    """Return a function that reads a decoded result as Celery does, except for a failure that is not an exception.

    Celery rebuilds an exception from the result of FAILURE, RETRY and REVOKED, and raises if that is not possible. But
    any task can store such a state itself, with any result.
    """

    def read(decoded: Any) -> dict[str, Any]:
        if not isinstance(decoded, dict) or not isinstance(decoded.get("status"), str):
            raise UnreadableResult("it is no result of Celery's")
        if decoded["status"] in states.EXCEPTION_STATES:
            with suppress(Exception):
                fault = rebuild(decoded.get("result"))
                repr(fault), str(fault)  # some rebuilt exceptions cannot be printed
                return {**decoded, "result": fault}
        return decoded

    return read


@contextmanager
def _result_errors() -> Iterator[None]:
    """Translate exceptions of the result backend, whose library can raise any."""
    try:
        yield
    except UnreadableResult:
        raise
    except UNREADABLE_RESULTS as fault:
        raise UnreadableResult(str(fault)) from fault
    except Exception as fault:
        raise ResultsUnavailable(f"{type(fault).__name__}: {fault}") from fault
