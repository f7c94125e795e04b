"""A sweep goes on, whatever is wrong with one task or with the broker."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from environs import Env
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis

from coatcheck.tasks_store import DueKind, Status, StoreSettings, TaskNotFound, TaskStore
from coatcheck.tasks_store.keys import TaskKeys
from coatcheck.workers.messages.dispatcher import Dispatcher
from coatcheck.workers.runs import sweeper as sweeping
from coatcheck.workers.runs.sweeper import Sweeper
from coatcheck.workers.settings import WorkerSettings
from coatcheck.workers.telemetry.metrics import Measures
from coatcheck.workers.toolkit.tool import Catalogue
from tests.store.stages import CONFIRM, OWNER, completed, field, parked, past, past_limit, queued, running


@pytest.fixture(scope="module")
def gone(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a broker that does not answer."""
    return f"unix://{tmp_path_factory.mktemp('gone')}/none.sock"


@pytest.fixture
def sweeper(store: TaskStore, redis_url: str, gone: str) -> Iterator[Sweeper]:
    """A sweeper whose broker is away."""
    yield from _sweeper(store, redis_url, gone)


@pytest.fixture
def sending(store: TaskStore, redis_url: str) -> Iterator[Sweeper]:
    """A sweeper whose broker answers."""
    yield from _sweeper(store, redis_url, redis_url)


def _sweeper(store: TaskStore, redis_url: str, broker: str) -> Iterator[Sweeper]:
    kept = StoreSettings(redis_url=redis_url)
    workers = WorkerSettings.read(Env(eager=False), kept)
    object.__setattr__(workers, "broker_url", broker)
    dispatcher = Dispatcher(workers, kept, Catalogue([]))
    measures = Measures(store.statistics.add)
    yield Sweeper(store, "worker@here", dispatcher, measures)
    measures.close()
    dispatcher.close()


def in_first_bucket(make: Callable[[], str]) -> str:
    """The id of a task in the bucket that a sweep begins with."""
    while not (task_id := make()).startswith("0"):
        pass
    return task_id


def lost(store: TaskStore, raw: Redis) -> str:
    task_id = running(store)
    past(raw, task_id, "lease")
    return task_id


def expired(store: TaskStore, raw: Redis) -> str:
    task_id = queued(store)
    past(raw, task_id, "expires")
    return task_id


def unsent(store: TaskStore, raw: Redis) -> str:
    task_id = queued(store)
    past(raw, task_id, "resend")
    return task_id


def lapsed(store: TaskStore, raw: Redis) -> str:
    task_id = parked(store)
    past_limit(raw, task_id, CONFIRM.input_key)
    return task_id


def purgeable(store: TaskStore, raw: Redis) -> str:
    task_id = completed(store)
    past(raw, task_id, "expires")
    return task_id


STAGES: dict[DueKind, Callable[[TaskStore, Redis], str]] = {
    DueKind.RECOVER: lost,
    DueKind.EXPIRE: expired,
    DueKind.RESEND: unsent,
    DueKind.LAPSE: lapsed,
    DueKind.PURGE: purgeable,
}


def test_a_sweep_without_a_broker_recovers_every_lost_run_and_reaches_what_is_behind_them(
    store: TaskStore, raw: Redis, sweeper: Sweeper
) -> None:
    """K4.2."""
    lost_ones = [in_first_bucket(lambda: lost(store, raw)) for _ in range(50)]
    late = in_first_bucket(lambda: expired(store, raw))
    raw.zadd(TaskKeys.of(late).due, {late: 2000})
    sweeper.sweep()
    assert store.get(OWNER, late).status is Status.FAILED
    assert {field(raw, task_id, "phase") for task_id in lost_ones} == {b"queued"}


def test_messages_that_cannot_be_sent_hold_up_nothing_behind_them(
    store: TaskStore, raw: Redis, sweeper: Sweeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K4.2: more of them are due than one look at a bucket reads."""
    monkeypatch.setattr(sweeping, "BATCH", 3)
    for _ in range(7):
        in_first_bucket(lambda: unsent(store, raw))
    late = in_first_bucket(lambda: expired(store, raw))
    raw.zadd(TaskKeys.of(late).due, {late: 2000})
    sweeper.sweep()
    assert store.get(OWNER, late).status is Status.FAILED


def test_a_record_that_no_script_understands_holds_up_no_other(store: TaskStore, raw: Redis, sending: Sweeper) -> None:
    """K4.2: each task by itself, whatever went wrong with one."""
    odd = in_first_bucket(lambda: lost(store, raw))
    raw.hset(TaskKeys.of(odd).task, "max_runs", "many")
    late = in_first_bucket(lambda: expired(store, raw))
    raw.zadd(TaskKeys.of(late).due, {late: 2000})
    sending.sweep()
    assert store.get(OWNER, late).status is Status.FAILED


@settings(max_examples=25, deadline=timedelta(seconds=20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(kinds=st.lists(st.sampled_from(list(STAGES)), min_size=1, max_size=12), is_away=st.booleans())
def test_one_sweep_does_all_that_needs_no_broker(
    kinds: list[DueKind], is_away: bool, store: TaskStore, raw: Redis, sweeper: Sweeper, sending: Sweeper
) -> None:
    """K4.2: broker away or not, whatever is due in whatever order."""
    raw.flushall()
    made = [(kind, STAGES[kind](store, raw)) for kind in kinds]
    (sweeper if is_away else sending).sweep()
    for kind, task_id in made:
        if kind is DueKind.PURGE:
            with pytest.raises(TaskNotFound):
                store.get(OWNER, task_id)
        elif kind is DueKind.EXPIRE:
            assert store.get(OWNER, task_id).status is Status.FAILED
        else:
            assert field(raw, task_id, "phase") == b"queued"
    sent = raw.llen("coatcheck:broker:coatcheck")
    assert sent == (0 if is_away else sum(kind in (DueKind.RECOVER, DueKind.RESEND, DueKind.LAPSE) for kind in kinds))
