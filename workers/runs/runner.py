"""One run of a job: claim, call the tool's function, then finish, park or release."""

import json
import logging
import os
import secrets
import time
from collections.abc import Callable
from math import inf
from typing import Any, NoReturn

from billiard.process import current_process

from coatcheck.tasks_store import (
    INTERNAL_ERROR,
    Claim,
    NextRun,
    Point,
    Refusal,
    SealBroken,
    Status,
    TaskError,
    TaskStore,
    new_run_id,
    reach,
)
from coatcheck.workers.runs.context import Context
from coatcheck.workers.runs.lease import Lease, LeaseKeeper
from coatcheck.workers.settings import WorkerSettings
from coatcheck.workers.telemetry.logs import Facts, about
from coatcheck.workers.telemetry.metrics import QUEUE_TIMES, RUN_TIMES, RUNS, Measures
from coatcheck.workers.telemetry.tracing import run_span
from coatcheck.workers.toolkit.errors import (
    BrokerUnavailable,
    Cancelled,
    Delegated,
    HandedBack,
    NotDelegated,
    Parked,
    Superseded,
)
from coatcheck.workers.toolkit.outcome import TIME_LIMIT, Ending, ending_of
from coatcheck.workers.toolkit.texts import sendable
from coatcheck.workers.toolkit.tool import Tool

logger = logging.getLogger(__name__)

PROCESS = "ForkPoolWorker"
"""Prefix of the names of pool processes."""

AWAY = "The broker of this tool's worker does not answer; it is tried again"


class Runner:
    """Runs tools for tasks, in this process and its forks."""

    def __init__(
        self,
        store: TaskStore,
        keeper: LeaseKeeper,
        settings: WorkerSettings,
        send: Callable[[NextRun], None],
        hand_over: Callable[[Tool, Claim, Lease], NoReturn],
        measures: Measures,
    ) -> None:
        self.store = store
        self._keeper = keeper
        self._settings = settings
        self._send = send
        self._hand_over = hand_over
        self._measures = measures
        self._worker = secrets.token_hex(4)

    def process(self, pid: int) -> str:
        """Return the prefix of run ids in this process. The pid alone is not unique across machines."""
        return f"{self._worker}.{pid}"

    def run(self, tool: Tool, task_id: str) -> str:
        """Run the tool for the task, and return a word on the outcome for Flower.

        Does nothing for a message that is delivered twice, late, or beside a live run.
        """
        try:
            claim = self._claim(task_id)
        except SealBroken as fault:
            logger.error("task %s is left to a worker that has the key: %s", task_id, fault)
            return "left to the sweeper"
        if isinstance(claim, Refusal):
            return f"nothing to run: {claim.value}"
        reach(Point.CLAIMED)
        begun = time.time()
        if claim.run_number == 1:
            self._measures.time(QUEUE_TIMES, tool.name, begun - claim.created_ms / 1000)
        said = self._claimed(tool, claim)
        self._measures.count(RUNS, tool.name, said.partition(":")[0])
        self._measures.time(RUN_TIMES, tool.name, time.time() - begun)
        return said

    def refuse(self, task_id: str, message: str) -> None:
        """Fail a queued task whose tool this worker does not have."""
        claim = self._claim(task_id)
        if not isinstance(claim, Refusal):
            message = sendable(message)
            ending = Ending(Status.FAILED, message, error=TaskError(INTERNAL_ERROR, message))
            self._finish(task_id, claim.run_id, ending)

    def lost(self, task_id: str, pid: int) -> None:
        """Recover the task of a run whose process died: start the next run, or fail the task."""
        self.store.maintenance.abandon(task_id, self.process(pid))
        self._send_if_possible(self.store.maintenance.recover(task_id, held=False))

    def killed_at_limit(self, task_id: str, pid: int) -> None:
        """Fail the task of a run that was killed at its time limit."""
        self.store.maintenance.abort(task_id, self.process(pid), TIME_LIMIT)

    def _claimed(self, tool: Tool, claim: Claim) -> str:
        facts: Facts = {"task_id": claim.task_id, "tool": tool.name, "run": claim.run_number}
        with about(**facts), run_span(facts, json.loads(claim.trace or b"{}")) as outcome:
            said = self._kept(tool, claim)
            outcome.append(said.partition(":")[0])
        return said

    def _kept(self, tool: Tool, claim: Claim) -> str:
        what = f"task {claim.task_id} tool {tool.name} run {claim.run_number}"
        try:
            with self._keeper.keep(claim, _limit_s(tool)) as lease:
                return self._run(tool, claim, lease, what)
        except Superseded:
            logger.warning("%s was superseded", what)
            return "superseded"
        except HandedBack:
            logger.warning("%s: the store is away and the worker shuts down; the lease ends by itself", what)
            return "left to the sweeper"

    def _claim(self, task_id: str) -> Claim | Refusal:
        return self.store.claim(task_id, new_run_id(self.process(os.getpid())))

    def _run(self, tool: Tool, claim: Claim, lease: Lease, what: str) -> str:
        try:
            ending = ending_of(tool, lambda: self._work(tool, claim, lease), self._settings, what)
            return self._end(lease, ending, what)
        except Parked as parked:
            reach(Point.PARKED)
            logger.info("%s parked for %s", what, parked)
            return f"parked: {parked}"
        except Cancelled:
            return self._end(lease, Ending(Status.CANCELLED, "Cancelled"), what)
        except Delegated as delegated:
            logger.info("%s handed over as %s", what, delegated)
            return f"handed over: {delegated}"
        except NotDelegated:
            return self._try_later(lease, what)
        except HandedBack:
            return self._hand_back(lease, what)

    def _work(self, tool: Tool, claim: Claim, lease: Lease) -> Any:
        """Call the tool's function and return its result, or delegate the work of an exposed tool."""
        if tool.exposed is not None:
            self._hand_over(tool, claim, lease)
        return call_tool(tool, claim, Context(claim, lease, self.store, self._settings.max_step_bytes))

    def _end(self, lease: Lease, ending: Ending, what: str) -> str:
        reach(Point.ENDING)
        status = lease.write(lambda: self._finish(lease.task_id, lease.run_id, ending))
        reach(Point.FINISHED)
        # If a cancel came first, the task has ended as cancelled.
        outcome = ending.outcome if status is ending.status else status.value
        logger.info("%s %s", what, outcome)
        return outcome

    def _finish(self, task_id: str, run_id: str, ending: Ending) -> Status:
        return self.store.finish(
            task_id, run_id, ending.status, message=ending.message, result=ending.result, error=ending.error
        )

    def _hand_back(self, lease: Lease, what: str) -> str:
        following = lease.write(lambda: self.store.release(lease.task_id, lease.run_id))
        if following is None:
            return self._end(lease, Ending(Status.CANCELLED, "Cancelled"), what)
        self._send_if_possible(following)
        logger.info("%s handed back", what)
        return "handed back"

    def _try_later(self, lease: Lease, what: str) -> str:
        """Release the run without sending a message, so that the sweeper starts the next run later."""
        if lease.write(lambda: self.store.release(lease.task_id, lease.run_id, AWAY)) is None:
            return self._end(lease, Ending(Status.CANCELLED, "Cancelled"), what)
        return "left to the sweeper"

    def _send_if_possible(self, following: NextRun | None) -> None:
        if following is None:
            return
        try:
            self._send(following)
        except BrokerUnavailable as fault:
            logger.warning("task %s: no message was sent, the sweeper will see to it: %s", following.task_id, fault)


def call_tool(tool: Tool, claim: Claim, context: Context) -> Any:
    """Call the tool's function with the claim's arguments. Raises InvalidArguments, and what the function raises."""
    arguments = tool.arguments.load(json.loads(claim.arguments))  # orjson reads large integers as floats
    assert tool.function is not None
    if tool.takes_context:
        return tool.function(context, **arguments)
    return tool.function(**arguments)


def _limit_s(tool: Tool) -> float:
    """Return the time limit of a run of this tool; infinite if a pool of processes enforces it."""
    is_stopped = tool.exposed is not None or current_process().name.startswith(PROCESS)
    return inf if tool.time_limit_ms is None or is_stopped else tool.time_limit_ms / 1000
