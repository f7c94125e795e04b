"""The run of an exposed tool: it hands the work over to another application's worker, and is over."""

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
    """Sends the work of exposed tools, always under the same message id."""

    def __init__(self, store: TaskStore, cluster: Cluster) -> None:
        self._store = store
        self._cluster = cluster

    def __call__(self, tool: Tool, claim: Claim, lease: Lease) -> NoReturn:
        """The message is with the other application's broker, and the watchers look after the task.

        A run that died between the two is followed by one that sends the message again, unless something is known of it
        by then.

        Raises:
            Delegated: it is done.
            NotDelegated: their broker does not answer.
            InvalidArguments, UnsendableValue, ProtocolError: the work cannot be handed over, now or later.
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
    """The W3C trace context that the call came with, for their worker's instrumentation."""
    if not claim.trace:
        return {}
    context: dict[str, str] = orjson.loads(claim.trace)
    return context
