"""The short way to the server: one command, one answer, and never somebody else's."""

import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from types import FrameType

import pytest
from redis import Redis

from coatcheck.tasks_store import Patience, StoreSettings, TaskNotFound, TaskStore
from tests.store.stages import OWNER, queued, running
from tests.support.valkey import Valkey

CALLERS = 8


class Interrupted(BaseException):
    """What a time limit raises, wherever the program is."""


@contextmanager
def interrupted_soon() -> Iterator[None]:
    """The block is interrupted in a fraction of a second, in the middle of whatever it waits for."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_an_answer_that_nobody_waited_for_is_nobody_elses() -> None:
    """A run's time limit strikes between a question and its answer; the next question gets its own answer."""
    with Valkey() as server, closing(TaskStore(StoreSettings(redis_url=server.url), Patience.DOOR)) as store:
        first, second = queued(store), running(store)
        server.pause()
        with pytest.raises(Interrupted), interrupted_soon():
            store.get(OWNER, first)
        server.resume()
        assert store.get(OWNER, second).task_id == second
        assert store.get(OWNER, second).message == "Running"


def test_a_connection_that_was_closed_while_idle_is_made_anew(store: TaskStore, raw: Redis) -> None:
    task_id = queued(store)
    raw.client_kill_filter(_type="normal", skipme=True)
    assert store.get(OWNER, task_id).task_id == task_id


def test_an_error_of_the_server_costs_no_connection(store: TaskStore, raw: Redis) -> None:
    task_id = queued(store)
    made = raw.info("stats")["total_connections_received"]
    for _ in range(3):
        raw.script_flush()
        assert store.get(OWNER, task_id).task_id == task_id
    assert raw.info("stats")["total_connections_received"] == made


def test_many_threads_get_their_own_answers(store: TaskStore) -> None:
    ids = [queued(store) for _ in range(CALLERS)]

    def look(task_id: str) -> set[str]:
        return {store.get(OWNER, task_id).task_id for _ in range(200)}

    with ThreadPoolExecutor(CALLERS) as callers:
        assert list(callers.map(look, ids)) == [{task_id} for task_id in ids]
    with pytest.raises(TaskNotFound):
        store.get(OWNER, "nonsense")
