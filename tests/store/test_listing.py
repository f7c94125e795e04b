"""Lists of tasks: whose they are, in which order, page by page, while tasks come and go."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from redis import Redis

from coatcheck.tasks_store import (
    InvalidCursor,
    Owner,
    Page,
    Patience,
    Remains,
    Status,
    StoreSettings,
    Task,
    TaskStore,
    Wanted,
)
from coatcheck.tasks_store.keys import TaskKeys, listed_as, listed_keys
from coatcheck.tasks_store.listing import BATCH, MOST
from tests.store.stages import (
    ONE_DAY_MS,
    OWNER,
    STRANGER,
    TERMINAL,
    call,
    cancelled,
    completed,
    past,
    queued,
    running,
    snapshot,
)
from tests.store.stages import parked as parked_task
from tests.support.leaks import leaked_keys

HOUR_MS = 3_600_000
ELSEWHERE = Owner("other", "ada")


def pages(store: TaskStore, owner: Owner = OWNER, wanted: Wanted | None = None, **options: object) -> Iterator[Page]:
    """Every page, the first to the last."""
    cursor = ""
    while True:
        page = store.listing.page(owner, wanted, cursor=cursor, **options)  # type: ignore[arg-type]
        yield page
        cursor = page.cursor
        if not cursor:
            return


def listed(store: TaskStore, owner: Owner = OWNER, wanted: Wanted | None = None, **options: object) -> list[str]:
    """The ids on all pages."""
    return [task.task_id for page in pages(store, owner, wanted, **options) for task in page.tasks]


def created_at(raw: Redis, task_id: str, at_ms: int, owner: Owner = OWNER) -> None:
    """The task came into being then."""
    raw.hset(TaskKeys.of(task_id).task, "created", at_ms)
    for key in listed_keys(task_id[0], owner).values():
        raw.zadd(key, {listed_as(task_id): at_ms})


def in_order(raw: Redis, store: TaskStore, count: int) -> list[str]:
    """So many tasks that came into being a millisecond apart, the newest first."""
    ids = [queued(store) for _ in range(count)]
    for number, task_id in enumerate(ids):
        created_at(raw, task_id, 1_000_000 + number)
    return ids[::-1]


def purge(raw: Redis, store: TaskStore, task_id: str, owner: Owner = OWNER) -> None:
    """The task ended, expired and was purged."""
    store.cancel(owner, task_id)
    past(raw, task_id, "expires")
    store.maintenance.purge(task_id, Remains(owner))


def plain(task: Task) -> Task:
    """The task as a list shows it: without what was asked, result and error."""
    return Task(
        task.task_id,
        task.tool,
        task.status,
        task.created_ms,
        task.updated_ms,
        task.ttl_ms,
        task.poll_interval_ms,
        task.message,
    )


def test_the_newest_come_first_and_read_as_get_shows_them(store: TaskStore, raw: Redis) -> None:
    stages: list[Callable[[TaskStore], str]] = [queued, running, parked_task, *TERMINAL.values()]
    ids = [stage(store) for stage in stages]
    for number, task_id in enumerate(ids):
        created_at(raw, task_id, 1_000_000 + number)
    page = store.listing.page(OWNER)
    assert list(page.tasks) == [plain(store.get(OWNER, task_id)) for task_id in reversed(ids)]
    assert page.cursor == ""
    assert store.listing.page(STRANGER) == Page([], "")


@pytest.mark.parametrize("limit", [1, 2, 7, 19, 20, 21])
def test_every_task_is_on_exactly_one_page_and_no_page_is_empty(store: TaskStore, raw: Redis, limit: int) -> None:
    ids = in_order(raw, store, 20)
    read = list(pages(store, limit=limit))
    assert [task.task_id for page in read for task in page.tasks] == ids
    assert [len(page.tasks) for page in read] == [min(limit, 20 - start) for start in range(0, 20, limit)]


@pytest.mark.parametrize("limit", [1, 3, 50])
def test_tasks_of_one_millisecond_are_told_apart(store: TaskStore, raw: Redis, limit: int) -> None:
    ids = [queued(store) for _ in range(40)]
    for number, task_id in enumerate(ids):
        created_at(raw, task_id, 1_000_000 + number // 30)
    expected = sorted(ids[:30], reverse=True)
    assert listed(store, limit=limit) == [*sorted(ids[30:], reverse=True), *expected]


def test_a_cursor_outlives_its_task_and_is_not_moved_by_new_ones(store: TaskStore, raw: Redis) -> None:
    ids = in_order(raw, store, 9)
    first = store.listing.page(OWNER, limit=3)
    assert [task.task_id for task in first.tasks] == ids[:3]
    purge(raw, store, ids[2])
    purge(raw, store, ids[4])
    queued(store)
    rest = store.listing.page(OWNER, limit=10, cursor=first.cursor)
    assert [task.task_id for task in rest.tasks] == [ids[3], *ids[5:]]


def test_pages_hold_each_task_once_while_others_come_and_go(redis_url: str, store: TaskStore, raw: Redis) -> None:
    """Four writers make and purge tasks for as long as the pages are read."""
    kept = set(in_order(raw, store, 60))
    together = TaskStore(StoreSettings(redis_url=redis_url), Patience.WORKER)
    enough, made = Event(), []

    def come_and_go() -> None:
        with Redis.from_url(redis_url) as own:
            while not enough.is_set():
                made.append(queued(together))
                purge(own, together, made[-1])

    with ThreadPoolExecutor(4) as threads:
        writers = [threads.submit(come_and_go) for _ in range(4)]
        try:
            for _ in range(10):
                before = len(made)
                found = listed(store, limit=2)
                assert len(found) == len(set(found))
                assert kept <= set(found)
                assert len(made) > before
        finally:
            enough.set()
        for writer in writers:
            writer.result()
    together.close()
    assert set(listed(store)) == kept
    assert leaked_keys(raw) == []


# Filters.


def test_a_filter_shows_what_fits_it(store: TaskStore, raw: Redis) -> None:
    report, other = completed(store), completed(store, tool="other")
    waiting, dropped = parked_task(store), cancelled(store)
    for number, task_id in enumerate([report, other, waiting, dropped]):
        created_at(raw, task_id, 1_000 + number)
    cases = {
        Wanted(status=Status.COMPLETED): [other, report],
        Wanted(status=Status.FAILED): [],
        Wanted(tool="report"): [dropped, waiting, report],
        Wanted(status=Status.COMPLETED, tool="other"): [other],
        Wanted(hidden_tools=frozenset({"report"})): [other],
        Wanted(tool="report", hidden_tools=frozenset({"report"})): [],
        Wanted(created_after_ms=1_001): [dropped, waiting, other],
        Wanted(created_before_ms=1_001): [report],
        Wanted(created_after_ms=1_001, created_before_ms=1_003): [waiting, other],
        Wanted(created_after_ms=1_003, created_before_ms=1_001): [],
    }
    for wanted, expected in cases.items():
        for limit in (1, 50):
            assert listed(store, OWNER, wanted, limit=limit) == expected, wanted


def test_a_cursor_may_be_used_with_another_filter(store: TaskStore, raw: Redis) -> None:
    ids = in_order(raw, store, 6)
    cursor = store.listing.page(OWNER, limit=2).cursor
    newer, older = Wanted(created_after_ms=1_000_004), Wanted(created_before_ms=1_000_001)
    assert store.listing.page(OWNER, newer, cursor=cursor) == Page([], "")
    assert [task.task_id for task in store.listing.page(OWNER, older, cursor=cursor).tasks] == ids[5:]


def test_a_page_costs_a_bounded_number_of_reads_and_its_cursor_goes_on(store: TaskStore, raw: Redis) -> None:
    rare = queued(store, tool="rare")
    for _ in range(MOST + 500):
        queued(store)
    raw.config_resetstat()
    first = store.listing.page(OWNER, Wanted(tool="rare"), limit=10)
    counts: dict[str, dict[str, int]] = raw.info("commandstats")  # type: ignore[assignment]
    assert first.tasks == []
    assert first.cursor
    assert MOST <= counts["cmdstat_hmget"]["calls"] < MOST + BATCH
    assert counts["cmdstat_zrevrangebyscore"]["calls"] <= 8 * (MOST // BATCH + 1)
    last = store.listing.page(OWNER, Wanted(tool="rare"), limit=10, cursor=first.cursor)
    assert ([task.task_id for task in last.tasks], last.cursor) == ([rare], "")


@pytest.mark.parametrize(
    "cursor", ["x", "1", "1-", "-1-" + "0" * 33, "1-8" + "0" * 32, "1-" + "0" * 34, "\u0661-" + "0" * 33, "9" * 99]
)
def test_a_cursor_that_no_page_had_is_refused(store: TaskStore, cursor: str) -> None:
    with pytest.raises(InvalidCursor):
        store.listing.page(OWNER, cursor=cursor)


# Owners and tenants.


def test_an_owner_is_shown_their_own_and_a_tenant_all_of_its_owners(store: TaskStore) -> None:
    """TASK-10, TASK-13"""
    mine, theirs, elsewhere = queued(store), queued(store, owner=STRANGER), queued(store, owner=ELSEWHERE)
    assert listed(store, OWNER) == [mine]
    assert listed(store, STRANGER) == [theirs]
    assert listed(store, ELSEWHERE) == [elsewhere]
    for owner in (OWNER, STRANGER, Owner("acme", "nobody yet")):
        shown = store.listing.page(owner, of_tenant=True).tasks
        assert {task.task_id: task.principal for task in shown} == {mine: "ada", theirs: "bob"}
    assert listed(store, ELSEWHERE, of_tenant=True) == [elsewhere]
    assert {task.principal for task in store.listing.page(OWNER).tasks} == {""}


def test_a_list_leads_to_no_foreign_task_even_when_it_names_one(store: TaskStore, raw: Redis) -> None:
    """TASK-10: the record says whose it is."""
    foreign = queued(store, owner=ELSEWHERE)
    for key in listed_keys(foreign[0], OWNER).values():
        raw.zadd(key, {listed_as(foreign): 1_000_000})
        raw.expire(key, 60)
    assert listed(store, OWNER) == listed(store, OWNER, of_tenant=True) == []
    assert listed(store, ELSEWHERE) == [foreign]
    for key in listed_keys(foreign[0], OWNER).values():
        raw.delete(key)


def test_twenty_owners_see_their_own_list(store: TaskStore) -> None:
    """TASK-10"""
    names = ["", "a", "b", '"', ","]
    owners = [Owner(tenant, principal) for tenant in names[:4] for principal in names]
    tasks = {owner: {queued(store, owner=owner) for _ in range(3)} for owner in owners}
    for owner in owners:
        assert set(listed(store, owner, limit=2)) == tasks[owner]
        of_tenant = set().union(*(ids for other, ids in tasks.items() if other.tenant == owner.tenant))
        assert set(listed(store, owner, of_tenant=True, limit=2)) == of_tenant


def test_neither_tenant_nor_principal_stands_in_the_name_of_a_key(store: TaskStore, raw: Redis) -> None:
    queued(store, owner=Owner("tenant-in-clear", "principal-in-clear"))
    assert not [name for name in raw.scan_iter() if b"in-clear" in name]


# How lists end.


def test_a_purged_task_is_on_no_list_and_an_empty_list_is_gone(store: TaskStore, raw: Redis) -> None:
    """TASK-11"""
    ids = [queued(store) for _ in range(3)]
    for task_id in ids:
        assert task_id in listed(store)
        purge(raw, store, task_id)
        assert task_id not in listed(store)
        assert leaked_keys(raw) == []
    assert raw.dbsize() == 0


def test_an_expired_task_is_listed_as_get_shows_it_until_it_is_purged(store: TaskStore, raw: Redis) -> None:
    """TASK-11"""
    task_id = parked_task(store)
    past(raw, task_id, "expires")
    assert list(store.listing.page(OWNER).tasks) == [plain(store.get(OWNER, task_id))]
    store.maintenance.expire(task_id)
    assert list(store.listing.page(OWNER).tasks) == [plain(store.get(OWNER, task_id))]
    assert store.listing.page(OWNER).tasks[0].status is Status.FAILED


def test_a_list_lives_longer_than_every_record_on_it(redis_url: str, raw: Redis) -> None:
    """TASK-11: also than one that ends as late as it can, and is then kept as long as a setting allows."""
    store = TaskStore(StoreSettings(redis_url=redis_url, keep_ms=HOUR_MS), Patience.DOOR)
    for ttl_ms in (1_000, 1_000, ONE_DAY_MS, 1_000, 2 * ONE_DAY_MS):
        task_id = running(store, ttl_ms=ttl_ms)
        record = TaskKeys.of(task_id).task
        for key in listed_keys(task_id[0], OWNER).values():
            latest_end = raw.pexpiretime(record)
            assert raw.pexpiretime(key) >= latest_end + HOUR_MS + HOUR_MS
    store.finish(task_id, "run-1", Status.COMPLETED, result=b"{}")
    for key in listed_keys(task_id[0], OWNER).values():
        assert raw.pexpiretime(key) > raw.pexpiretime(record)
    store.close()


def test_a_record_that_expired_by_itself_is_off_the_list_once_somebody_looked(store: TaskStore, raw: Redis) -> None:
    """TASK-11: as after hours without a worker."""
    gone, kept = queued(store), queued(store)
    raw.delete(TaskKeys.of(gone).task)
    assert listed(store) == [kept]
    store.maintenance.inspect(gone)
    assert leaked_keys(raw) == []


def test_a_list_is_read_where_nothing_can_be_written(store: TaskStore, raw: Redis) -> None:
    gone, kept = queued(store), queued(store)
    raw.delete(TaskKeys.of(gone).task)
    before = snapshot(raw)
    raw.replicaof("127.0.0.1", "1")  # of nobody: the data stays as it is
    try:
        assert listed(store) == [kept]
    finally:
        raw.replicaof("NO", "ONE")
    assert snapshot(raw) == before
    assert listed(store) == [kept]
    store.maintenance.inspect(gone)


def test_a_task_of_before_there_were_lists_is_on_none_and_otherwise_as_any(store: TaskStore, raw: Redis) -> None:
    old = store.create(call())[0].task_id
    for key in listed_keys(old[0], OWNER).values():
        raw.delete(key)
    assert listed(store) == []
    assert store.get(OWNER, old).status is Status.WORKING
    purge(raw, store, old)
    assert raw.dbsize() == 0
