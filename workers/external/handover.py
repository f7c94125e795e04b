"""The run of an exposed tool, which delegates the work to another application's worker."""

import logging
from typing import NoReturn

import orjson

from coatcheck.tasks_store import Claim, Point, TaskStore, reach
from coatcheck.workers.messages.other_application import Cluster, message_id_of
from coatcheck.workers.runs.lease import Lease
from coatcheck.workers.toolkit.errors import (
    BrokerUnavailable,
    Cancelled,
    Delegated,
    NotDelegated,
    ResultsUnavailable,
)
from coatcheck.workers.toolkit.jsonable import jsonable
from coatcheck.workers.toolkit.tool import Tool

logger = logging.getLogger(__name__)


class Handover:
    """Sends the work of exposed tools, with the same message id for every run of a task."""

    def __init__(self, store: TaskStore, cluster: Cluster) -> None:
        self._store = store
        self._cluster = cluster

    def __call__(self, tool: Tool, claim: Claim, lease: Lease) -> NoReturn:
        """Send the message to the other application's broker, and leave the task to the watchers.

        If a run dies between the two, the next run sends the message again, unless the result backend already knows it.

        Raises:
            Delegated: the task is delegated.
            NotDelegated: the broker does not respond.
            InvalidArguments, UnsendableValue, ProtocolError: the work can never be delegated.
        """
        assert tool.exposed is not None
        arguments = jsonable(tool.arguments.load(orjson.loads(claim.arguments)), where="arguments")
        message_id = message_id_of(claim.task_id)
        lease.check()
        try:
            if claim.run_number == 1 or not self._is_known(message_id):
                headers = {"coatcheck_task_id": claim.task_id, "coatcheck_owner": claim.owner.tag, **_trace(claim)}
                self._cluster.send(tool.exposed, message_id, arguments, headers, claim.expires_ms)
        except (BrokerUnavailable, ResultsUnavailable) as fault:
            logger.warning("task %s cannot be handed over now: %s", claim.task_id, fault)
            raise NotDelegated from fault
        reach(Point.DELEGATED)
        message = f"Handed over as {tool.exposed.task}"
        if not lease.write(lambda: self._store.delegations.delegate(claim.task_id, claim.run_id, message)):
            self._cluster.cancel(message_id, terminate=tool.terminate)
            raise Cancelled
        raise Delegated(tool.exposed.task)

    def _is_known(self, message_id: str) -> bool:
        return self._cluster.state(message_id).name != "PENDING"


def _trace(claim: Claim) -> dict[str, str]:
    """Return the W3C trace context of the call, for the instrumentation of the other worker."""
    if not claim.trace:
        return {}
    context: dict[str, str] = orjson.loads(claim.trace)
    return context
