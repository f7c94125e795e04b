"""Send the messages that start runs and resumes. A message holds ids and keys, never content."""

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import BoundedSemaphore
from typing import Any, Final

from celery import Celery, chord
from celery.canvas import Signature
from kombu import Consumer, Exchange, Producer, Queue
from kombu.exceptions import OperationalError

from coatcheck.tasks_store import NextRun, StoreSettings
from coatcheck.tasks_store.per_process import PerProcess
from coatcheck.workers.messages.broker_client import keep_client
from coatcheck.workers.messages.celery_app import ACCEPT, NAMESPACE, create_celery
from coatcheck.workers.settings import WorkerSettings
from coatcheck.workers.toolkit.errors import BrokerRefused, BrokerUnavailable
from coatcheck.workers.toolkit.tool import CELERY_PREFIX, Catalogue

PRODUCERS: Final = 10
"""Connections that a process sends on at the same time; the size of kombu's pool."""

WAIT_S: Final = 1.5
"""Seconds that a message waits for one of them."""

REPLY_SECONDS = 0.75
"""Seconds that a broker may take to reply. A client is waiting, and the sweeper sends a message that failed."""

ANSWER_SECONDS: Final = 1.0
"""Seconds to wait for workers' replies to an inspection."""

HEARD_IN_TRIES: Final = 5
"""How often a broadcast is sent at most. On some brokers the consumer starts listening with the first one."""

GET_SECONDS: Final = 0.05
"""Seconds between two attempts to get the message of a probe."""

PROBE_SECONDS: Final = 60.0
"""Seconds after which the broker deletes the queue of a probe that did not finish."""

ONE_MORE_TRY: Final = {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0}
"""One retry, for a connection that was lost while idle. A message that is sent twice does no harm."""


class Dispatcher:
    """Sends messages to workers. Thread-safe, and safe to share with processes that are forked later.

    Every method raises BrokerUnavailable when the broker did not accept the message. Nothing is lost: the record says
    that it is due, and the sweeper sends it later.
    """

    def __init__(self, settings: WorkerSettings, store: StoreSettings, catalogue: Catalogue) -> None:
        self._settings = settings
        self._store = store
        self._catalogue = catalogue
        self._queue = settings.queue
        self._faults, self._refusals = _faults_of(create_celery(settings, store))
        self._token = secrets.token_hex(8)
        self._app_of_process = PerProcess(self._make)
        self._turns_of_process = PerProcess(lambda: BoundedSemaphore(PRODUCERS))

    @property
    def _app(self) -> Celery:
        """This process's application.

        It is not the worker's own application, so that no thread of the main process holds a lock of that one.
        """
        return self._app_of_process.get()

    def _make(self) -> Celery:
        app = create_celery(self._settings, self._store, reply_seconds=REPLY_SECONDS)
        app.conf.task_publish_retry_policy = ONE_MORE_TRY
        # Otherwise each thread makes a backend, and Celery counts the greenlet of each web connection as one.
        app.conf.result_backend_thread_safe = True
        app.conf.broker_transport_options = {**app.conf.broker_transport_options, **ONE_MORE_TRY}
        app.conf.result_backend_transport_options["retry_policy"] = ONE_MORE_TRY
        # No result is waited for here. By default Celery listens for those of every chord. Under gevent, an outage of
        # the backend would end the listener, and with it every later chord of the process.
        backend: Any = app.backend
        backend.add_pending_result = lambda result, *_args, **_options: result
        return app

    @property
    def backend(self) -> Any:
        """This process's result backend, which counts the finished header tasks of resume chords."""
        return self._app.backend

    def send_run(self, run: NextRun) -> None:
        """Send the message that starts this run."""
        with self._turn(), self._broker_errors(), self._app.producer_or_acquire() as producer:
            keep_client(producer.channel)
            self._app.send_task(
                CELERY_PREFIX + run.tool,
                producer=producer,
                args=(run.task_id,),
                task_id=run.message_id,
                queue=self.queue_of(run.tool),
                ignore_result=True,
                **_shown(run, run.task_id),
            )

    def send_resume(self, run: NextRun, keys: Sequence[str]) -> None:
        """Send the chord that resumes a task: one *accept* per answered key, then the next run.

        The record decides, not the chord: if the chord is lost, the sweeper starts the run; if it is doubled, the
        second run finds the lease taken and does nothing.
        """
        header = [
            self._app.signature(
                ACCEPT,
                args=(run.task_id, key),
                immutable=True,
                options={"queue": self._queue, **_shown(run, run.task_id, key)},
            )
            for key in keys
        ]
        body: Signature = self._app.signature(
            CELERY_PREFIX + run.tool,
            args=(run.task_id,),
            immutable=True,
            options={"queue": self.queue_of(run.tool), "task_id": run.message_id, **_shown(run, run.task_id)},
        )
        with self._turn(), self._broker_errors():
            chord(header, app=self._app)(body)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Reserve a producer, with a time limit that kombu's own pool does not have.

        Raises BrokerUnavailable when none is free in time.
        """
        turns = self._turns_of_process.get()
        if not turns.acquire(timeout=WAIT_S):
            raise BrokerUnavailable("all connections to the broker are in use")
        try:
            yield
        finally:
            turns.release()

    def revoke(self, run: NextRun, *, terminate: bool = False) -> None:
        """Tell workers to drop the message of this run or, with `terminate`, to kill its process."""
        with self._broker_errors():
            self._app.control.revoke(run.message_id, terminate=terminate, signal="SIGKILL")

    def check(self) -> None:
        """Check that the broker responds."""
        with self._broker_errors(), self._app.connection_for_write(connect_timeout=REPLY_SECONDS) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=1)

    def probe(self) -> None:
        """Send a message to a queue of its own and get it back, as senders and workers do."""
        name = f"{NAMESPACE}.probe.{self._token}"
        with self._broker_errors(), self._app.connection_for_write(connect_timeout=REPLY_SECONDS) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=1)
            channel = connection.default_channel
            exchange = Exchange(name, durable=False, auto_delete=True)
            # The broker deletes the queue by itself if this process dies in between.
            queue = Queue(name, exchange, routing_key=name, durable=False, expires=PROBE_SECONDS)(channel)
            queue.declare()
            Producer(channel, exchange).publish("", routing_key=name)
            deadline = time.monotonic() + REPLY_SECONDS
            while (message := queue.get()) is None and time.monotonic() < deadline:
                time.sleep(GET_SECONDS)
            if message is not None:
                message.ack()
            queue.delete()
        if message is None:
            raise BrokerUnavailable("a message that the broker took did not come back")

    def probe_control(self) -> None:
        """Send and receive a broadcast, which is how workers learn of cancelled runs."""
        with self._broker_errors(), self._app.connection_for_write(connect_timeout=REPLY_SECONDS) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=1)
            channel = connection.default_channel
            control: Any = self._app.control  # its type stubs lack the mailbox
            exchange = control.mailbox.exchange
            name = f"{NAMESPACE}.probe.control.{self._token}"
            queue = Queue(name, exchange, durable=False, expires=PROBE_SECONDS)(channel)
            heard: list[object] = []
            with Consumer(channel, [queue], on_message=heard.append, no_ack=True):
                for _ in range(HEARD_IN_TRIES):
                    control.broadcast("ping", connection=connection)
                    with suppress(TimeoutError):
                        connection.drain_events(timeout=REPLY_SECONDS / HEARD_IN_TRIES)
                    if heard:
                        break
            queue.delete()

    def check_results(self) -> None:
        """Check that the result backend responds."""
        try:
            self._app.backend.get_task_meta("none", cache=False)
        except Exception as fault:  # the backend's library can raise any exception
            raise BrokerUnavailable(f"{type(fault).__name__}: {fault}") from fault

    def backlog(self, queue: str) -> int:
        """Return the number of messages in this queue."""
        with self._broker_errors(), self._app.connection_for_write(connect_timeout=REPLY_SECONDS) as connection:
            channel: Any = connection.default_channel  # the type of its base class lacks this method
            # A passive declaration creates nothing. For Redis, kombu's omits the prefix of the keys, and an active
            # declaration creates nothing there.
            passive = connection.transport.driver_type != "redis"
            try:
                return int(channel.queue_declare(queue, passive=passive).message_count)
            except connection.channel_errors:
                return 0  # no worker has declared it yet

    def close(self) -> None:
        """Close the connections of this process."""
        if (app := self._app_of_process.pop()) is not None:
            app.close()

    @contextmanager
    def _broker_errors(self) -> Iterator[None]:
        try:
            yield
        except self._refusals as fault:
            raise BrokerRefused(f"The broker refuses what this program needs: {self._named(fault)}") from fault
        except self._faults as fault:
            raise BrokerUnavailable(str(fault)) from fault

    def unserved(self, workers: int) -> tuple[int, list[str]]:
        """Return how many of so many workers replied, and a sentence for each Celery task that none of them runs."""
        with self._broker_errors(), self._app.connection_for_write(connect_timeout=REPLY_SECONDS) as connection:
            inspect: Any = self._app.control.inspect(timeout=ANSWER_SECONDS, limit=workers, connection=connection)
            queues, known = inspect.active_queues() or {}, inspect.registered() or {}
        served = {
            (queue["name"], task.partition(" ")[0])
            for worker, taken in queues.items()
            for queue in taken or ()
            for task in known.get(worker, ())
        }
        tools = [tool.name for tool in self._catalogue if tool.mode != "inline"]
        needed = [(self._queue, ACCEPT), *((self.queue_of(name), CELERY_PREFIX + name) for name in tools)]
        return len(queues), [
            f"none takes {task} from the queue {queue}" for queue, task in needed if (queue, task) not in served
        ]

    def _named(self, fault: BaseException) -> str:
        """Return the broker's message, and the name of the channel or key that Redis omits from it."""
        words = str(fault).partition(" script: on ")[0]
        prefix = self._settings.broker_prefix
        if words.endswith("access a channel"):
            channel = f"{prefix}/0.{self._settings.control_exchange}.pidbox"
            return f"{words}; workers listen to {channel}, which an ACL must name whole"
        if words.endswith("access a key"):
            return f"{words}; those of the broker begin with {prefix}"
        return words

    def queue_of(self, tool: str) -> str:
        """Return the queue for messages of this tool."""
        known = self._catalogue.get(tool)
        return (known.queue if known else None) or self._queue


def _shown(run: NextRun, *args: str) -> dict[str, Any]:
    """Return the arguments as Flower and logs show them, with the tag of the owner.

    Without them Celery computes a representation for each message.
    """
    return {"argsrepr": repr(args), "kwargsrepr": repr({"owner": run.owner_tag})}


Errors = tuple[type[BaseException], ...]


def _faults_of(app: Celery) -> tuple[Errors, Errors]:
    """Return the exceptions that mean that the broker did not accept a message, and those that mean that it refused.

    Both Celery and its driver raise them.
    """
    connection = app.connection_for_write()
    return (OperationalError, OSError, *connection.connection_errors), tuple(connection.channel_errors)
