"""The header of the resume chord: one *accept* per answer, in parallel on any workers."""

import logging

from coatcheck.tasks_store import Point, TaskStore, reach
from coatcheck.workers.runs.context import judge
from coatcheck.workers.telemetry.logs import about
from coatcheck.workers.toolkit.errors import places_of

logger = logging.getLogger(__name__)


def accept(store: TaskStore, task_id: str, input_key: str) -> str:
    """Validate an answer with the author's validator, store the verdict, and return a word on it for Flower.

    Never raises, because an exception in the header would fail the chord's body. An answer that could not be validated
    here is validated by the next run, where an exception of the validator is one of the tool.
    """
    with about(task_id=task_id):
        try:
            given = store.given(task_id, input_key)
            if given is None:
                return f"{input_key}: nothing to judge"
            verdict, why = judge(given)
            store.accept(task_id, input_key, verdict, why)
        except Exception as fault:  # noqa: BLE001 - an exception in the header would fail the chord's body
            # Without the message, because that of a validator can quote the answer.
            why = f"{type(fault).__name__} at {places_of(fault)}"
            logger.error("task %s: the answer to %s could not be judged: %s", task_id, input_key, why)
            return f"{input_key}: left to the run"
        reach(Point.ACCEPTED)
        return f"{input_key}: {verdict}"
