"""What the processes of one deployment share: who lives, who sweeps, one secret."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from redis import Redis

from coatcheck.tasks_store import TaskStore
from coatcheck.tasks_store.keys import HOLD, SECRET, SWEEPER, WORKERS
from coatcheck.tasks_store.maintenance import RETURN_MS


def test_workers_are_counted_while_they_were_seen_lately(store: TaskStore, raw: Redis) -> None:
    assert store.maintenance.workers_alive() == 0
    store.maintenance.beat("worker-1")
    store.maintenance.beat("worker-2")
    store.maintenance.beat("worker-2")
    assert store.maintenance.workers_alive() == 2
    raw.zincrby(WORKERS, -60_000, "worker-1")
    assert store.maintenance.workers_alive() == 1


def test_a_worker_that_takes_no_messages_lives_and_is_not_counted(store: TaskStore, raw: Redis) -> None:
    """K3.2: its sweeper goes on all the same, and its silence is no outage of the store."""
    store.maintenance.beat("worker-1")
    store.maintenance.beat("worker-2", takes_messages=False)
    assert store.maintenance.workers_alive() == 1
    store.maintenance.beat("worker-1", takes_messages=False)
    assert store.maintenance.workers_alive() == 0
    raw.zincrby(WORKERS, -6_000, "!worker-1")
    assert store.maintenance.beat("worker-2", takes_messages=False) is False
    store.maintenance.beat("worker-1")
    assert store.maintenance.workers_alive() == 1
    assert raw.zcard(WORKERS) == 2


def test_a_worker_unseen_for_an_hour_is_forgotten(store: TaskStore, raw: Redis) -> None:
    store.maintenance.beat("worker-1")
    raw.zincrby(WORKERS, -3_700_000, "worker-1")
    store.maintenance.beat("worker-2")
    assert raw.zrange(WORKERS, 0, -1) == [b"worker-2"]


def test_dead_leases_are_held_back_after_nobody_was_seen_for_a_while(store: TaskStore, raw: Redis) -> None:
    assert store.maintenance.beat("worker-1") is False
    raw.zincrby(WORKERS, -6_000, "worker-1")
    assert store.maintenance.beat("worker-1") is True
    assert store.maintenance.beat("worker-2") is True
    assert 0 < raw.pttl(HOLD) <= RETURN_MS
    raw.delete(HOLD)
    assert store.maintenance.beat("worker-1") is False


def test_one_silent_worker_among_others_is_no_outage(store: TaskStore, raw: Redis) -> None:
    store.maintenance.beat("worker-1")
    store.maintenance.beat("worker-2")
    raw.zincrby(WORKERS, -60_000, "worker-1")
    assert store.maintenance.beat("worker-1") is False


def test_one_worker_sweeps_until_its_lease_ends(store: TaskStore, raw: Redis) -> None:
    assert store.maintenance.lead("worker-1") is True
    assert store.maintenance.lead("worker-2") is False
    assert store.maintenance.lead("worker-1") is True
    lease_ms = raw.pttl(SWEEPER)
    assert lease_ms == pytest.approx(store.settings.sweep_ms + 1_000, abs=500)
    raw.delete(SWEEPER)
    assert store.maintenance.lead("worker-2") is True


def test_all_processes_get_one_secret(store: TaskStore, raw: Redis) -> None:
    with ThreadPoolExecutor(20) as threads:
        secrets = set(threads.map(lambda _: store.secret(), range(20)))
    assert secrets == {raw.get(SECRET)}
    assert len(secrets.pop()) == 64
