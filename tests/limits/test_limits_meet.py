"""Limits that meet idempotency keys: a repeated call is never a new task, so no limit on new tasks refuses it."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis

from coatcheck.tasks_store import NewTask, Owner, StoreSettings
from coatcheck.web.access.limits import Limits
from coatcheck.web.errors import LimitReached
from coatcheck.web.settings.limits import LimitSettings
from coatcheck.web.settings.web import ServerSettings, WebSettings
from coatcheck.web.streams.connections import ConnectionsOfProcess
from coatcheck.web.tool_calls.jobs import Jobs
from coatcheck.workers.settings import WorkerSettings
from coatcheck.workers.toolkit.tool import Catalogue

ANN = Owner("acme", "ann")
KEYS = st.sampled_from(["", "a", "b", "c"])
"""Idempotency keys of calls; the empty one is none."""

CALLS = st.lists(st.tuples(st.sampled_from(["call", "end"]), KEYS), max_size=25)

hypothesis_settings = settings(
    max_examples=30, deadline=timedelta(seconds=20), suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@contextmanager
def jobs_with(url: str, limits: LimitSettings) -> Iterator[Jobs]:
    """The jobs of a front door with these limits."""
    catalogue = Catalogue([])
    workers = WorkerSettings(broker_url=url, result_backend=url)
    connections = ConnectionsOfProcess(ServerSettings(StoreSettings(redis_url=url), workers, WebSettings()), catalogue)
    quota, dispatcher = (lambda: connections().store.quota), (lambda: connections().dispatcher)
    yield Jobs(connections, catalogue, Limits(limits, 1, quota, dispatcher, knows_owners=True))
    connections.close()


def new_call(key: str) -> NewTask:
    return NewTask(ANN, "tool", b"{}", idempotency_key=key)


@hypothesis_settings
@given(steps=CALLS, quota=st.integers(1, 3))
def test_quotas_count_tasks_and_not_calls(steps: list[tuple[str, str]], quota: int, redis_url: str, raw: Redis) -> None:
    """K4.1: quotas and idempotency keys, in whatever order calls come and tasks end."""
    raw.flushall()
    made: dict[str, str] = {}
    living: set[str] = set()
    with jobs_with(redis_url, LimitSettings(tasks_per_owner=quota)) as jobs:
        for step, key in steps:
            if step == "end":
                if living:
                    jobs.cancel(ANN, living.pop())
            elif key in made:
                task, is_new = jobs.create(new_call(key))
                assert (task.task_id, is_new) == (made[key], False)
            elif len(living) < quota:
                task, is_new = jobs.create(new_call(key))
                assert is_new
                living.add(task.task_id)
                if key:
                    made[key] = task.task_id
            else:
                with pytest.raises(LimitReached):
                    jobs.create(new_call(key))


@hypothesis_settings
@given(keys=st.lists(KEYS, max_size=15), backlog=st.integers(1, 3))
def test_a_full_queue_refuses_no_call_that_is_repeated(
    keys: list[str], backlog: int, redis_url: str, raw: Redis
) -> None:
    """K4.1: backlogs and idempotency keys. How full the queue is is known a second late, so each call looks afresh."""
    raw.flushall()
    made: dict[str, str] = {}
    sent = 0
    for key in keys:
        with jobs_with(redis_url, LimitSettings(backlog=backlog)) as jobs:
            if key not in made and sent >= backlog:
                with pytest.raises(LimitReached):
                    jobs.create(new_call(key))
                continue
            task, is_new = jobs.create(new_call(key))
            assert is_new is (key not in made)
            if is_new:
                jobs.start(ANN, task)
                sent += 1
            assert made.setdefault(key, task.task_id) == task.task_id or not key
            made.pop("", None)
