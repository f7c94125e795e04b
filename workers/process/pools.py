"""What Celery's pools leave to be done."""

import time
from collections.abc import Iterator
from typing import Any, Final

import celery
from celery import bootsteps
from celery.worker.state import reserved_requests

LOOK_SECONDS = 0.5
"""How often a pool is looked through for processes that ended."""


TICK_SECONDS: Final = 0.5
"""How often a consumer that takes messages says so."""

TICKS_MISSED: Final = 10
"""After how many ticks without one a consumer takes none."""


class Reaper(bootsteps.StartStopStep):
    """Notices the end of a pool process at once, so that its run is judged and its place taken.

    The pool looks when the pipe of a process closes, which may be a moment before the process counts as ended, and
    then not again for five seconds.
    """

    requires = ("celery.worker.components:Pool",)

    def register_with_event_loop(self, worker: Any, hub: Any) -> None:
        """The pool is looked through from now on; called for pools of processes only."""
        hub.call_repeatedly(LOOK_SECONDS, worker.pool.maintain_pool)


class BusyProcesses(bootsteps.StartStopStep):
    """Keeps messages from processes of a pool that are at work, or about to end.

    Celery forgets who is at work with the connection to the broker: the next message would go to a process that works
    on another, and wait behind that for as long as it takes, with its place in the pool free beside it. And a process
    that a smaller pool has no use for is given messages until it has ended, which would end their runs with it.
    """

    requires = ("celery.worker.components:Pool",)

    def start(self, worker: Any) -> None:
        """A process is chosen to end only while no message is on its way to it, and is given none from then on."""
        pool: Any = getattr(worker.pool, "_pool", None)
        if not hasattr(pool, "_busy_workers"):
            return  # it has no processes, so it does not choose among them
        idle = pool._iterinactive

        def free() -> Iterator[Any]:
            for process in idle():
                place = process.inqW_fd
                # A process that has not begun, or has ended, has no place: the next one takes the mark over with it.
                if pool._fileno_to_inq.get(place) is process and place not in pool._busy_workers:
                    pool._busy_workers.add(place)
                    yield process

        pool._iterinactive = free
        flush = worker.pool.flush

        def flush_but_keep() -> None:
            accepted = {number: job for number, job in pool._cache.items() if job._accepted}
            flush()
            # Celery 5.5 forgets these too, and with them who is at work.
            pool._cache.update({number: job for number, job in accepted.items() if not job.ready()})

        worker.pool.flush = flush_but_keep

    def register_with_event_loop(self, worker: Any, hub: Any) -> None:
        """A process that works, or ends, is given nothing else; called at every start of the event loop, so after each
        loss of the broker."""
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
    """Tells whether the consumer takes messages: for how long its timer has run undisturbed."""

    def __init__(self) -> None:
        self._ticked_at = float("-inf")

    def tick(self) -> None:
        """Note that the consumer takes messages now."""
        self._ticked_at = time.monotonic()

    def __call__(self) -> bool:
        """Return whether it did a moment ago."""
        return time.monotonic() - self._ticked_at < TICKS_MISSED * TICK_SECONDS


consuming: Final = Consuming()
"""The consumer of this process. Celery makes its steps by itself, and hands them nothing."""


class SignOfLife(bootsteps.StartStopStep):
    """Ticks for as long as the consumer takes messages.

    A consumer that meets an error, as a right that is missing, stops its timer and all its steps before it begins anew.
    One that meets it each time never gets as far as the first tick.
    """

    requires = ("celery.worker.consumer.tasks:Tasks",)

    _entry: Any = None

    def start(self, consumer: Any) -> None:
        """Begin to tick; called whenever the consumer begins to take messages."""
        self._entry = consumer.timer.call_repeatedly(TICK_SECONDS, consuming.tick)

    def stop(self, _consumer: Any) -> None:
        """End the ticks, if they had begun."""
        if self._entry is not None:
            self._entry.cancel()


class NoPrefetch(bootsteps.StartStopStep):
    """Lets Celery 5.5 take messages for free processes only, as `worker_disable_prefetch` does from 5.6 on."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def include_if(self, consumer: Any) -> bool:
        """Return whether the setting is wanted, and Celery does not know it."""
        return celery.VERSION < (5, 6) and bool(consumer.app.conf.worker_disable_prefetch)

    def start(self, consumer: Any) -> None:
        """Let the new channel take no message while every process has one."""
        qos = consumer.task_consumer.channel.qos
        can_consume = qos.can_consume

        def has_room() -> bool:
            places = getattr(consumer.controller, "max_concurrency", None) or consumer.pool.num_processes
            return len(reserved_requests) < places and bool(can_consume())

        qos.can_consume = has_room


class Places(bootsteps.StartStopStep):
    """Tells the consumer how many runs a pool of greenlets has room for.

    Such a pool counts the greenlets that run instead, at first none: without prefetching it would never take a message.
    """

    requires = ("celery.worker.components:Pool",)

    def start(self, worker: Any) -> None:
        """The consumer, which starts after this, takes as many messages at a time as the pool has places."""
        if not worker.pool.num_processes:
            worker.max_concurrency = worker.concurrency
