"""One run of a job: claim, call the tool's function, then finish, park or hand back."""

import logging
import secrets
from collections.abc import Callable
from typing import Any

import orjson

from tasks_store import Claim, NextRun, Point, Refusal, RunSuperseded, Status, TaskError, TaskStore, reach
from workers.context import Context
from workers.errors import Cancelled, HandedBack, Parked, Superseded
from workers.lease import LeaseKeeper
from workers.outcome import INTERNAL_ERROR, TIME_LIMIT, Ending, ending_of
from workers.settings import WorkerSettings
from workers.tool import Tool

logger = logging.getLogger(__name__)


class Runner:
    """Runs tools for tasks in this process."""

    def __init__(
        self, store: TaskStore, keeper: LeaseKeeper, settings: WorkerSettings, send: Callable[[NextRun], None]
    ) -> None:
        self.store = store
        self._keeper = keeper
        self._settings = settings
        self._send = send

    def run(self, tool: Tool, task_id: str) -> str:
        """The task is one run further, or nothing was to be done; in a word or two, for whoever looks on in Flower.

        A message that comes twice, late, or beside a live run does nothing.
        """
        claim = self.store.claim(task_id, secrets.token_hex(8))
        if isinstance(claim, Refusal):
            return f"nothing to run: {claim.value}"
        reach(Point.CLAIMED)
        what = f"task {task_id} tool {tool.name} run {claim.run_number}"
        try:
            return self._run(tool, claim, what)
        except (Superseded, RunSuperseded):
            logger.warning("%s was superseded", what)
            return "superseded"

    def _run(self, tool: Tool, claim: Claim, what: str) -> str:
        with self._keeper.keep(claim) as lease:
            context = Context(claim, lease, self.store, self._settings.max_step_bytes)
            try:
                ending = ending_of(tool, lambda: _call(tool, claim, context), self._settings, what)
            except Parked as parked:
                reach(Point.PARKED)
                logger.info("%s parked for %s", what, parked)
                return f"parked: {parked}"
            except Cancelled:
                ending = Ending(Status.CANCELLED, "Cancelled")
            except HandedBack:
                return self._hand_back(claim, what)
            return self._end(claim, ending, what)

    def refuse(self, task_id: str, message: str) -> None:
        """A task whose tool this worker does not know is failed, if it is due to run."""
        claim = self.store.claim(task_id, secrets.token_hex(8))
        if not isinstance(claim, Refusal):
            error = TaskError(INTERNAL_ERROR, message)
            self._end(claim, Ending(Status.FAILED, message, error=error), f"task {task_id}")

    def lost(self, task_id: str, run_number: int) -> None:
        """A run whose process is gone is over: the next one is on its way, or the task has ended."""
        self.store.abandon(task_id, run_number)
        following = self.store.recover(task_id, held=False)
        if following is not None:
            self._send(following)

    def killed_at_limit(self, task_id: str, run_number: int) -> None:
        """A run that was killed at its time limit has failed its task."""
        self.store.abort(task_id, run_number, TIME_LIMIT)

    def _end(self, claim: Claim, ending: Ending, what: str) -> str:
        reach(Point.ENDING)
        status = self.store.finish(
            claim.task_id,
            claim.run_id,
            ending.status,
            message=ending.message,
            result=ending.result,
            error=ending.error,
        )
        reach(Point.FINISHED)
        logger.info("%s %s", what, status)
        return status.value

    def _hand_back(self, claim: Claim, what: str) -> str:
        following = self.store.release(claim.task_id, claim.run_id)
        if following is None:
            return self._end(claim, Ending(Status.CANCELLED, "Cancelled"), what)
        self._send(following)
        logger.info("%s handed back", what)
        return "handed back"


def _call(tool: Tool, claim: Claim, context: Context) -> Any:
    arguments = tool.arguments.load(orjson.loads(claim.arguments))
    if tool.takes_context:
        return tool.function(context, **arguments)
    return tool.function(**arguments)
