"""What the store counts: rates that all processes share, and tasks that have not ended."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from redis import Redis

from coatcheck.tasks_store import Fullness, NewTask, Owner, Patience, StoreSettings, TaskStore, new_task_id
from coatcheck.tasks_store.keys import alive_keys, bucket_key

ANN = Owner("acme", "ann")
BOB = Owner("acme", "bob")
EVE = Owner("other", "ann")
TTL_MS = 60_000


def made(store: TaskStore, owner: Owner = ANN) -> str:
    """A task that was admitted and made."""
    task_id = new_task_id()
    assert store.quota.admit(owner, task_id, TTL_MS, 0, 0) is None
    store.create(NewTask(owner, "tool", b"{}", ttl_ms=TTL_MS), task_id)
    return task_id


def test_a_bucket_gives_its_burst_and_then_says_when_there_is_more(store: TaskStore) -> None:
    assert store.quota.take("b", 0.5, 1) == 0
    wait_ms = store.quota.take("b", 0.5, 1)
    assert 1_000 < wait_ms <= 2_000
    assert store.quota.take("another", 0.5, 1) == 0


def test_a_bucket_refills_with_time(store: TaskStore, raw: Redis) -> None:
    while store.quota.take("b", 0.01, 1) == 0:
        pass
    raw.hincrbyfloat(bucket_key("b"), "full_at", -100_000)  # a hundred seconds go by
    assert store.quota.take("b", 0.01, 1) == 0
    assert store.quota.take("b", 0.01, 1) > 0


def test_many_at_once_never_get_more_than_there_is(redis_url: str, store: TaskStore) -> None:
    """As many processes would: each over its own connections."""
    stores = [TaskStore(StoreSettings(redis_url=redis_url), Patience.DOOR) for _ in range(4)]
    with ThreadPoolExecutor(8) as pool:
        waits = list(pool.map(lambda n: stores[n % 4].quota.take("b", 5, 10), range(60)))
    for one in stores:
        one.close()
    assert 10 <= waits.count(0) <= 12  # two seconds of it at once, and what came in meanwhile


def test_a_bucket_that_is_full_again_is_gone(store: TaskStore, raw: Redis) -> None:
    store.quota.take("b", 0.5, 1)
    assert 0 < raw.pttl(bucket_key("b")) <= 2_000


@pytest.mark.parametrize(
    ("per_owner", "per_tenant", "full"), [(2, 0, Fullness.OWNER), (0, 2, Fullness.TENANT), (2, 2, Fullness.OWNER)]
)
def test_a_task_too_many_is_refused_and_says_whose(
    store: TaskStore, per_owner: int, per_tenant: int, full: Fullness
) -> None:
    for _ in range(2):
        made(store)
    assert store.quota.admit(ANN, new_task_id(), TTL_MS, per_owner, per_tenant) is full
    assert store.quota.admit(EVE, new_task_id(), TTL_MS, per_owner, per_tenant) is None
    expected = Fullness.TENANT if per_tenant else None
    assert store.quota.admit(BOB, new_task_id(), TTL_MS, per_owner, per_tenant) is expected


def test_a_task_that_ended_makes_room(store: TaskStore) -> None:
    """However it ended; nobody has to say so."""
    tasks = [made(store) for _ in range(3)]
    assert store.quota.admit(ANN, new_task_id(), TTL_MS, 3, 3) is Fullness.OWNER
    store.cancel(ANN, tasks[1])
    next_id = new_task_id()
    assert store.quota.admit(ANN, next_id, TTL_MS, 3, 3) is None
    store.create(NewTask(ANN, "tool", b"{}", ttl_ms=TTL_MS), next_id)
    assert store.quota.admit(ANN, new_task_id(), TTL_MS, 3, 3) is Fullness.OWNER


def test_a_task_that_was_admitted_and_never_made_makes_room_when_it_is_needed(store: TaskStore) -> None:
    """Its process died between the two."""
    assert store.quota.admit(ANN, new_task_id(), TTL_MS, 1, 0) is None
    assert store.quota.admit(ANN, new_task_id(), TTL_MS, 1, 0) is None


def test_a_task_that_was_dismissed_is_not_counted(store: TaskStore, raw: Redis) -> None:
    task_id = new_task_id()
    store.quota.admit(ANN, task_id, TTL_MS, 1, 1)
    store.quota.dismiss(ANN, task_id)
    assert not any(raw.exists(key) for key in alive_keys(ANN).values())


def test_tasks_past_their_time_are_not_counted_and_the_count_dies_with_the_last(store: TaskStore, raw: Redis) -> None:
    task_id = made(store)
    counts = list(alive_keys(ANN).values())
    assert all(0 < raw.pttl(key) <= TTL_MS for key in counts)
    for key in counts:
        raw.zadd(key, {task_id: 1})  # its time passes
    assert store.quota.admit(ANN, new_task_id(), TTL_MS, 1, 1) is None
    assert [raw.zcard(key) for key in counts] == [1, 1]


def test_owners_whose_names_run_together_are_counted_apart(store: TaskStore) -> None:
    made(store, Owner("a:alive", "b"))
    assert not set(alive_keys(Owner("a", "alive:b")).values()) & set(alive_keys(Owner("a:alive", "b")).values())
