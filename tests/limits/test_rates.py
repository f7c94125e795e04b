"""Rates over several processes, each with a share of its own."""

from collections.abc import Iterator
from contextlib import suppress

import pytest

from coatcheck.tasks_store import Patience, StoreSettings, TaskStore
from coatcheck.web.access.rate_limit import RateLimit
from coatcheck.web.errors import LimitReached
from tests.support.valkey import Valkey

PER_S = 0.02
"""So slow that nothing comes in while a test runs."""


def rate(store: TaskStore, per_s: float = PER_S, processes: int = 2) -> RateLimit:
    """The rate as one of the processes has it."""
    return RateLimit("tests", per_s, 2 * per_s, processes, lambda: store.quota, "Too many")


def given(rate: RateLimit, name: str = "ann", tries: int = 200) -> int:
    """How often it was given."""
    count = 0
    for _ in range(tries):
        with suppress(LimitReached):
            rate.take(name)
            count += 1
    return count


def test_a_process_gives_its_share_without_asking_the_store(redis_url: str) -> None:
    """The ordinary caller costs no round trip: here there is no store at all."""
    nowhere = TaskStore(StoreSettings(redis_url="unix:///nowhere"), Patience.DOOR)
    assert given(rate(nowhere, per_s=20, processes=2), tries=10) == 10


def test_all_processes_together_give_the_burst_and_no_more(store: TaskStore) -> None:
    first, second = rate(store, 10), rate(store, 10)
    count = given(first) + given(second)
    assert 20 <= count <= 23  # two seconds of ten, and what came in meanwhile


def test_one_process_alone_gives_most_of_it(store: TaskStore) -> None:
    """A client that keeps to one connection is served by one process."""
    assert 15 <= given(rate(store, 10)) <= 17


def test_a_slow_rate_gives_its_whole_burst_at_once(store: TaskStore) -> None:
    """By all processes together, if they have shares; by any one of them, if they have none."""
    shared = [RateLimit("shared", PER_S, 100, 2, lambda: store.quota, "Too many") for _ in range(2)]
    assert sum(map(given, shared)) == 100
    for name, count in (("ann", 100), ("bob", 100)):
        alone = RateLimit("alone", PER_S, 100, 0, lambda: store.quota, "Too many")
        assert given(alone, name) == count
    assert given(RateLimit("alone", PER_S, 100, 0, lambda: store.quota, "Too many")) == 0


def test_the_first_is_always_given(store: TaskStore) -> None:
    """C92."""
    slow = rate(store)
    for name in ("ann", "bob"):
        slow.take(name)


def test_who_is_over_it_hears_when_to_come_back(store: TaskStore) -> None:
    slow = rate(store)
    given(slow)
    with pytest.raises(LimitReached) as refused:
        slow.take("ann")
    assert 1 <= int(refused.value.headers["Retry-After"]) <= 100


def test_names_do_not_share(store: TaskStore) -> None:
    slow = rate(store)
    given(slow, "ann")
    assert given(slow, "bob") >= 1


def test_no_limit_is_no_limit(store: TaskStore) -> None:
    assert given(rate(store, 0), tries=1_000) == 1_000


@pytest.fixture
def away() -> Iterator[TaskStore]:
    """A store that does not answer."""
    with Valkey() as valkey:
        url = valkey.url
    store = TaskStore(StoreSettings(redis_url=url), Patience.DOOR)
    yield store
    store.close()


def test_a_store_that_is_away_stops_nobody(away: TaskStore) -> None:
    """Who needs it hears that from itself, and who does not goes on."""
    assert given(rate(away), tries=50) == 50
