"""Notices the end of a pool process at once, so that its run is judged and its place taken."""

from typing import Any

from celery import bootsteps

LOOK_SECONDS = 0.5
"""How often the pool is looked through for processes that ended."""


class Reaper(bootsteps.StartStopStep):
    """A part of the worker beside its pool.

    The pool looks when the pipe of a process closes, which may be a moment before the process counts as ended, and
    then not again for five seconds.
    """

    requires = ("celery.worker.components:Pool",)

    def register_with_event_loop(self, worker: Any, hub: Any) -> None:
        """The pool is looked through from now on; called for pools of processes only."""
        hub.call_repeatedly(LOOK_SECONDS, worker.pool.maintain_pool)
