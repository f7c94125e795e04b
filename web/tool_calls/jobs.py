"""Start, resume and cancel jobs: the durable record first, then the message to a worker."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace

import orjson

from coatcheck.tasks_store import (
    Answered,
    CallConflict,
    NewTask,
    NextRun,
    Outcome,
    Owner,
    Point,
    Task,
    new_task_id,
    reach,
)
from coatcheck.web.access.limits import Limits
from coatcheck.web.errors import LimitReached
from coatcheck.web.streams.connections import Connections
from coatcheck.workers.telemetry.logs import know
from coatcheck.workers.telemetry.tracing import carried, know_task
from coatcheck.workers.toolkit.errors import BrokerUnavailable
from coatcheck.workers.toolkit.tool import Catalogue

logger = logging.getLogger(__name__)


class Jobs:
    """Manages the jobs of tasks.

    A failure to send a message is logged, not raised: the record is durable, and the sweeper sends the message later.
    """

    def __init__(self, connections: Callable[[], Connections], catalogue: Catalogue, limits: Limits) -> None:
        self._connections = connections
        self._catalogue = catalogue
        self._limits = limits

    def create(self, new: NewTask) -> tuple[Task, bool]:
        """Create the task durably; the flag tells whether this call created it, so that it has to be started.

        A repeated call creates nothing, so it is not subject to the limits on new tasks.

        Raises:
            LimitReached: there are too many.
            CallConflict: the idempotency key was used for another tool or other arguments.
        """
        if not new.trace and (trace := carried()):
            new = replace(new, trace=orjson.dumps(trace))  # the job is a part of this request's trace at least
        task, is_new = self._created(new)
        know(task_id=task.task_id)
        know_task(task.task_id)
        return task, is_new

    def start(self, owner: Owner, task: Task) -> None:
        """Send the message of the first run."""
        reach(Point.CREATED)
        run = NextRun(task.task_id, task.tool, 1, owner.tag)
        self._send(run, lambda: self._connections().dispatcher.send_run(run))

    def answer(self, owner: Owner, task_id: str, answers: Mapping[str, bytes]) -> Answered:
        """Store the answers, and resume the job when no input is open any more.

        Raises TaskNotFound, and InvalidParams for an answer that is too large.
        """
        self._limits.check_answers(answers)
        connections = self._connections()
        if not answers:
            connections.store.confirm()  # an earlier request can have stored them without receiving its response
            return Answered()
        answered = connections.store.answer(owner, task_id, answers)
        if (run := answered.resumes) is not None:
            reach(Point.ANSWERED)
            self._send(run, lambda: connections.dispatcher.send_resume(run, answered.round))
        return answered

    def cancel(self, owner: Owner, task_id: str) -> None:
        """Cancel the task, or ask its run to end. Raises TaskNotFound."""
        connections = self._connections()
        cancellation = connections.store.cancel(owner, task_id)
        if (run := cancellation.run) is None:
            return
        tool = self._catalogue.get(run.tool)
        terminate = cancellation.outcome is Outcome.REQUESTED and tool is not None and tool.terminate
        self._send(run, lambda: connections.dispatcher.revoke(run, terminate=terminate))

    def _created(self, new: NewTask) -> tuple[Task, bool]:
        task_id = new_task_id(new.call)
        try:
            self._limits.check_task(new, task_id)
        except LimitReached:
            if (earlier := self._connections().store.repeated(new)) is None:
                raise
            return earlier, False
        is_new = False
        try:
            task, is_new = self._connections().store.create(new, task_id)
        except CallConflict:
            self._limits.forget_task(new.owner, task_id)
            raise
        if not is_new:
            self._limits.forget_task(new.owner, task_id)
        return task, is_new

    def _send(self, run: NextRun, send: Callable[[], None]) -> None:
        try:
            send()
        except BrokerUnavailable as fault:
            logger.warning("task %s: no message could be sent, the sweeper will see to it: %s", run.task_id, fault)
