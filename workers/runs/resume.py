"""The header of the resume chord: one *accept* per answer, run on workers, side by side."""

import logging

from coatcheck.tasks_store import Point, TaskStore, reach
from coatcheck.workers.runs.context import judge
from coatcheck.workers.telemetry.logs import about
from coatcheck.workers.toolkit.errors import places_of

logger = logging.getLogger(__name__)


def accept(store: TaskStore, task_id: str, input_key: str) -> str:
    """The author's validator has judged the answer and the verdict is durable; in a word, for Flower.

    It never raises: a header that raises would fail the chord's body. An answer that could not be judged here is judged
    by the next run, where a fault of the validator becomes the tool's own.
    """
    with about(task_id=task_id):
        try:
            given = store.given(task_id, input_key)
            if given is None:
                return f"{input_key}: nothing to judge"
            verdict, why = judge(given)
            store.accept(task_id, input_key, verdict, why)
        except Exception as fault:  # noqa: BLE001 - a header that raises would fail the chord's body
            # Not in the exception's own words: a validator's may quote the answer.
            why = f"{type(fault).__name__} at {places_of(fault)}"
            logger.error("task %s: the answer to %s could not be judged: %s", task_id, input_key, why)
            return f"{input_key}: left to the run"
        reach(Point.ACCEPTED)
        return f"{input_key}: {verdict}"
