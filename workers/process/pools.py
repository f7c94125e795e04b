"""Worker steps that make up for faults of Celery's pools and consumer."""

import time
from collections.abc import Iterator
from typing import Any, Final

import celery
from celery import bootsteps
from celery.worker.state import reserved_requests

LOOK_SECONDS = 0.5
"""Seconds between two checks of a pool for processes that ended."""


TICK_SECONDS: Final = 0.5
"""Seconds between two ticks of a consumer that accepts messages."""

TICKS_MISSED: Final = 10
"""A consumer that has missed this many ticks accepts no messages."""


class Reaper(bootsteps.StartStopStep):
    """Detects the end of a pool process at once, so that its run is recovered and the process replaced.

    The pool checks when the pipe of a process closes, which can be just before the process has ended, and then not
    again for five seconds.
    """

    requires = ("celery.worker.components:Pool",)

    def register_with_event_loop(self, worker: Any, hub: Any) -> None:
        """Check the pool periodically. Called for pools of processes only."""
        hub.call_repeatedly(LOOK_SECONDS, worker.pool.maintain_pool)


class BusyProcesses(bootsteps.StartStopStep):
    """Keeps messages from pool processes that are busy or about to end.

    When Celery loses the connection to the broker, it forgets which processes are busy: the next message would go to a
    busy process and wait there, although another process is free. And a process that ends because the pool shrinks gets
    messages until it has ended, which would end their runs.
    """

    requires = ("celery.worker.components:Pool",)

    def start(self, worker: Any) -> None:
        """Let the pool choose only processes without a message to end, and give those none from then on."""
        pool: Any = getattr(worker.pool, "_pool", None)
        if not hasattr(pool, "_busy_workers"):
            return  # not a pool of processes
        idle = pool._iterinactive

        def free() -> Iterator[Any]:
            for process in idle():
                place = process.inqW_fd
                # A process that has not started, or has ended, is not in the table: the next process with this file
                # descriptor would inherit the mark.
                if pool._fileno_to_inq.get(place) is process and place not in pool._busy_workers:
                    pool._busy_workers.add(place)
                    yield process

        pool._iterinactive = free
        flush = worker.pool.flush

        def flush_but_keep() -> None:
            accepted = {number: job for number, job in pool._cache.items() if job._accepted}
            flush()
            # Celery 5.5 drops these too, and with them which processes are busy.
            pool._cache.update({number: job for number, job in accepted.items() if not job.ready()})

        worker.pool.flush = flush_but_keep

    def register_with_event_loop(self, worker: Any, hub: Any) -> None:
        """Mark processes that are busy or about to end.

        Called at each start of the event loop, and so after each loss of the broker.
        """
        pool = worker.pool._pool
        if not hasattr(pool, "_busy_workers"):
            return
        at_work: list[Any] = [
            job._write_to
            for job in pool._cache.values()
            if getattr(job, "_write_to", None) is not None and job._accepted and not job.ready()
        ]
        ending = [process for process in pool._pool if getattr(process, "_controlled_termination", False)]
        for process in (*at_work, *ending):
            if pool._fileno_to_inq.get(process.inqW_fd) is process:
                pool._busy_workers.add(process.inqW_fd)


class Consuming:
    """Tells whether the consumer accepts messages, by the ticks of its timer."""

    def __init__(self) -> None:
        self._ticked_at = float("-inf")

    def tick(self) -> None:
        """Note that the consumer accepts messages now."""
        self._ticked_at = time.monotonic()

    def __call__(self) -> bool:
        """Return whether there was a recent tick."""
        return time.monotonic() - self._ticked_at < TICKS_MISSED * TICK_SECONDS


consuming: Final = Consuming()
"""The consumer of this process. A global, because Celery creates its steps itself, without arguments."""


class SignOfLife(bootsteps.StartStopStep):
    """Ticks while the consumer accepts messages.

    After an error, such as a missing right, the consumer stops its timer and all its steps before it starts again. If
    the error recurs each time, there is never a first tick.
    """

    requires = ("celery.worker.consumer.tasks:Tasks",)

    _entry: Any = None

    def start(self, consumer: Any) -> None:
        """Start the ticks. Called whenever the consumer begins to accept messages."""
        self._entry = consumer.timer.call_repeatedly(TICK_SECONDS, consuming.tick)

    def stop(self, _consumer: Any) -> None:
        """Stop the ticks, if they were started."""
        if self._entry is not None:
            self._entry.cancel()


class NoPrefetch(bootsteps.StartStopStep):
    """Lets Celery 5.5 accept messages for free processes only, as `worker_disable_prefetch` does from 5.6 on."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def include_if(self, consumer: Any) -> bool:
        """Return whether the setting is on, and this version of Celery does not have it."""
        return celery.VERSION < (5, 6) and bool(consumer.app.conf.worker_disable_prefetch)

    def start(self, consumer: Any) -> None:
        """Let the new channel accept no message while every process has one."""
        qos = consumer.task_consumer.channel.qos
        can_consume = qos.can_consume

        def has_room() -> bool:
            places = getattr(consumer.controller, "max_concurrency", None) or consumer.pool.num_processes
            return len(reserved_requests) < places and bool(can_consume())

        qos.can_consume = has_room


class Places(bootsteps.StartStopStep):
    """Sets the capacity of a pool of greenlets.

    Such a pool reports its running greenlets instead, at first 0, so that without prefetching it would never accept a
    message.
    """

    requires = ("celery.worker.components:Pool",)

    def start(self, worker: Any) -> None:
        """Set the capacity for the consumer, which starts after this step."""
        if not worker.pool.num_processes:
            worker.max_concurrency = worker.concurrency
