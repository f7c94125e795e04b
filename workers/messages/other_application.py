"""Another Celery application, as it is seen from outside: its queues, its workers, its results.

What is done here is what any sender of messages may do. Nothing of theirs is declared, consumed, purged or rerouted.
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
"""The namespace of the message ids that are made from task ids."""

UNREADABLE: Final = "UNREADABLE"
"""The state of a message whose result is there and cannot be read."""

ANSWER_SECONDS: Final = 1.0
"""How long their workers may take to say what they hold."""

CONNECT_SECONDS: Final = 2.0
"""How long their broker may take to accept a connection."""

UNREADABLE_RESULTS: Final = (ContentDisallowed, DecodeError, SecurityError)
"""What Celery raises for a result that it may not, or cannot, decode."""


class UnreadableResult(WorkersError):
    """A result is there, and it is not what Celery writes as JSON."""


@dataclass(frozen=True, slots=True)
class State:
    """What their result backend says of a message."""

    name: str
    """Celery's word, or their own."""
    result: Any = None
    """The value; the exception; or the `meta` as their code stored it, of a state of their own or beside a state of
    Celery's that would have an exception."""


@dataclass(frozen=True, slots=True)
class Census:
    """What those of their workers that answered in time hold."""

    workers: int
    active: Collection[str]
    """The messages that are worked on, of those that were asked for."""
    waiting: Collection[str]
    """The messages that wait in the hands of a worker, of those that were asked for."""


def their_app(settings: WorkerSettings, store: StoreSettings) -> Celery:
    """An application that can send to theirs, and ask it."""
    broker = address_of(settings.expose_broker_url)
    results = address_of(settings.expose_result_backend)
    app = Celery("exposed", set_as_current=False)
    lead(app, broker, results)
    app.conf.update(
        broker_transport_options={**broker.options, **({} if broker.is_redis else {"confirm_publish": True})},
        broker_connection_timeout=CONNECT_SECONDS,
        # Their servers may be away for longer than a call should hang; the next look tries again.
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
    # Last, because what is not JSON is never loaded, whatever their own settings accept.
    app.conf.update(task_serializer="json", accept_content=["json"], result_accept_content=["json"])
    return app


def message_id_of(task_id: str) -> str:
    """The id of the message that carries a task's work, however often it is sent."""
    return str(uuid5(WORK, task_id))


class Cluster:
    """Sends messages to their workers and reads what becomes of them.

    Methods raise BrokerUnavailable and ResultsUnavailable when the one or the other does not answer.
    """

    def __init__(self, settings: WorkerSettings, store: StoreSettings) -> None:
        self._settings = settings
        self._store = store
        self._confirms = settings.expose_broker_url.startswith("amqp")
        self._app_of_process = PerProcess(lambda: their_app(settings, store))

    @property
    def _app(self) -> Celery:
        """This process's own."""
        return self._app_of_process.get()

    def send(
        self,
        work: Exposed,
        message_id: str,
        arguments: Mapping[str, Any],
        headers: Mapping[str, str],
        expires_ms: int,
    ) -> None:
        """The message is with their broker; past its expiry their worker drops it.

        Raises:
            ProtocolError: there is no such queue, on a broker that would lose the message.
        """
        # Unlike Redis, where a queue is there once it is written to, RabbitMQ drops what no queue takes.
        if self._confirms and self._length(work.queue) is None:
            raise ProtocolError(INTERNAL_ERROR, f"Their broker has no queue {work.queue}")
        with self._connected() as connection:
            send_task: Any = self._app.send_task  # its types know a queue by its name only
            send_task(
                work.task,
                kwargs=dict(arguments),
                task_id=message_id,
                root_id=message_id,  # not the run that sends it: their tasks know nothing of ours
                queue=Queue(work.queue, no_declare=True),
                headers=dict(headers),
                expires=datetime.fromtimestamp(expires_ms / 1000, UTC),
                connection=connection,
                retry=False,
            )

    def state(self, message_id: str) -> State:
        """What is known of a message. PENDING is what nothing is known of."""
        try:
            with _result_errors():
                backend: Any = self._app.backend
                backend.meta_from_decoded = _reader(backend.exception_to_python)
                meta = backend.get_task_meta(message_id, cache=False)
        except UnreadableResult:
            return State(UNREADABLE)
        return State(meta["status"], meta.get("result"))

    def cancel(self, message_id: str, *, terminate: bool) -> None:
        """Their workers drop the message or, with `terminate`, kill its process; one that opted in can read of it."""
        backend = self._app.backend
        if isinstance(backend, BaseKeyValueStoreBackend):
            with _result_errors():
                backend.set(backend.get_key_for_task(message_id, CANCELLED), b"1")
        with self._connected() as connection:
            self._app.control.revoke(message_id, terminate=terminate, signal="SIGTERM", connection=connection)

    def census(self, message_ids: Collection[str]) -> Census:
        """Which of these their workers hold."""
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
        """Return what those of their workers that answer in time say of themselves."""
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
        """Return what would keep calls of these from their results; see `coatcheck.workers.messages.agreement`."""
        return list(disagreements(works, self.workers(), *self._results))

    def unseen_result(self, work: Exposed) -> str:
        """Return why the result of this task cannot be seen from here, though it was worked on; or nothing."""
        return unseen_result(work, self.workers(), *self._results)

    @property
    def _results(self) -> tuple[str, object]:
        return self._settings.expose_result_backend, self._app.conf.result_backend_transport_options

    def is_idle(self, workers: int) -> bool:
        """None of so many workers holds any message of anybody."""
        with self._connected() as connection:
            # With a limit the answer is there once they have all said something.
            inspect = self._app.control.inspect(timeout=ANSWER_SECONDS, limit=workers, connection=connection)
            for ask in (inspect.active, inspect.reserved, inspect.scheduled):
                replies = ask()
                if not replies or any(replies.values()):
                    return False
        return True

    def backlog(self, queue: str) -> int:
        """How many messages wait in this queue; 0 when there is none of this name."""
        return self._length(queue) or 0

    def close(self) -> None:
        """The connections of this process are closed."""
        if (app := self._app_of_process.pop()) is not None:
            app.close()

    def _length(self, queue: str) -> int | None:
        """How many messages wait in this queue; None when the broker has none of this name."""
        with self._connected() as connection:
            try:
                return int(connection.default_channel.queue_declare(queue, passive=True).message_count)
            except connection.channel_errors:
                return None

    @contextmanager
    def _connected(self) -> Iterator[Any]:
        """A new connection to their broker. A pooled one may have died since, which its first use would not survive."""
        connection: Any = self._app.connection_for_write()
        try:
            with connection:
                yield connection
        except (OperationalError, OSError, *connection.connection_errors) as fault:
            raise BrokerUnavailable(str(fault)) from fault


def _reader(rebuild: Callable[[Any], Any]) -> Callable[[Any], dict[str, Any]]:
    """What reads a decoded result as Celery does, but for a failure that is no exception.

    Celery rebuilds an exception of whatever is stored beside FAILURE, RETRY and REVOKED, and raises where there is
    none: any task may store such a state by itself, with whatever it likes.
    """

    def read(decoded: Any) -> dict[str, Any]:
        if not isinstance(decoded, dict) or not isinstance(decoded.get("status"), str):
            raise UnreadableResult("it is no result of Celery's")
        if decoded["status"] in states.EXCEPTION_STATES:
            with suppress(Exception):
                fault = rebuild(decoded.get("result"))
                repr(fault), str(fault)  # some cannot be told, because they were made in another way
                return {**decoded, "result": fault}
        return decoded

    return read


@contextmanager
def _result_errors() -> Iterator[None]:
    """Whatever library the backend is made of may raise what it likes."""
    try:
        yield
    except UnreadableResult:
        raise
    except UNREADABLE_RESULTS as fault:
        raise UnreadableResult(str(fault)) from fault
    except Exception as fault:
        raise ResultsUnavailable(f"{type(fault).__name__}: {fault}") from fault
