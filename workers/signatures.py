"""The messages that start runs and resumes, and how they are sent. A message holds ids and keys, never content."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from celery import Celery, chord
from celery.canvas import Signature
from kombu.exceptions import OperationalError

from tasks_store import NextRun, StoreSettings
from workers.celery_app import ACCEPT, create_celery
from workers.errors import BrokerUnavailable
from workers.settings import WorkerSettings
from workers.tool import CELERY_PREFIX, Catalogue

CHECK_SECONDS = 1
"""How long a broker may take to answer whether it is there."""


class Dispatcher:
    """Sends messages to workers; safe to share between threads, to be made after a fork.

    Every method raises BrokerUnavailable when the broker did not take the message. Nothing is lost then: the record
    says what is due, and the sweeper sends it later.
    """

    def __init__(self, settings: WorkerSettings, store: StoreSettings, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._queue = settings.queue
        self._app = create_celery(settings, store)

    @classmethod
    def within(cls, app: Celery, queue: str, catalogue: Catalogue) -> "Dispatcher":
        """A dispatcher that shares the connections of a worker's own app."""
        dispatcher = cls.__new__(cls)
        dispatcher._app, dispatcher._queue, dispatcher._catalogue = app, queue, catalogue
        return dispatcher

    def send_run(self, run: NextRun) -> None:
        """The message that starts this run is with the broker."""
        with _broker_errors():
            self._app.send_task(
                CELERY_PREFIX + run.tool,
                args=(run.task_id,),
                task_id=run.message_id,
                queue=self._queue_of(run.tool),
                ignore_result=True,
                retry=False,
            )

    def send_resume(self, run: NextRun, keys: Sequence[str]) -> None:
        """The chord that resumes a task is with the broker: one *accept* per answered key, then the next run.

        The record is the truth, not the chord: lost, the sweeper starts the run; doubled, the lease makes the second a
        no-op.
        """
        header = [
            self._app.signature(ACCEPT, args=(run.task_id, key), immutable=True, options={"queue": self._queue})
            for key in keys
        ]
        body: Signature = self._app.signature(
            CELERY_PREFIX + run.tool,
            args=(run.task_id,),
            immutable=True,
            options={"queue": self._queue_of(run.tool), "task_id": run.message_id},
        )
        with _broker_errors():
            chord(header, app=self._app)(body, retry=False)

    def revoke(self, run: NextRun, *, terminate: bool = False) -> None:
        """Workers that listen drop the message of this run, or, with `terminate`, kill the process that runs it."""
        with _broker_errors():
            self._app.control.revoke(run.message_id, terminate=terminate, signal="SIGKILL")

    def check(self) -> None:
        """The broker answers."""
        with _broker_errors(), self._app.connection_for_write(connect_timeout=CHECK_SECONDS) as connection:
            connection.ensure_connection(max_retries=1, interval_start=0, timeout=CHECK_SECONDS)

    def close(self) -> None:
        """The connections of this process are closed."""
        self._app.close()

    def _queue_of(self, tool: str) -> str:
        known = self._catalogue.get(tool)
        return (known.queue if known else None) or self._queue


@contextmanager
def _broker_errors() -> Iterator[None]:
    try:
        yield
    except (OperationalError, OSError) as fault:
        raise BrokerUnavailable(str(fault)) from fault
