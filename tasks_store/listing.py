"""Lists tasks: an owner's, or those of all owners of a tenant; the newest first, page by page."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Self

from coatcheck.tasks_store.errors import InvalidCursor, StoreUnavailable
from coatcheck.tasks_store.keys import TaskKeys, listed_as, listed_id, listed_keys
from coatcheck.tasks_store.model import BUCKETS, Owner, Status, Task
from coatcheck.tasks_store.sender import Sender

BATCH: Final = 200
"""How many records are read in one round trip, when many do not fit the filter."""

MOST: Final = 1_000
"""How many records are read for one page. When few of them fit, the page is short, and its cursor goes on."""

_FIELDS: Final = ("owner", "tool", "status", "created", "updated", "ttl", "poll", "message")
"""Of a record: what a list shows."""

_CURSOR: Final = re.compile(r"(\d{1,15})-([0-7][0-9a-f]{32})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which tasks a list is to show. Times are ms since 1970, on the clock of the store."""

    status: Status | None = None
    tool: str | None = None
    hidden_tools: frozenset[str] = frozenset()
    """Tasks of these tools are left out."""
    created_after_ms: int | None = None
    """Created then or later."""
    created_before_ms: int | None = None
    """Created earlier."""

    def takes(self, task: Task) -> bool:
        """The task is one to show, whenever it was created."""
        return (
            (self.status is None or task.status is self.status)
            and (self.tool is None or task.tool == self.tool)
            and task.tool not in self.hidden_tools
        )


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the tasks of a list, the newest first."""

    tasks: Sequence[Task]
    """As `get` shows them, without what was asked, result and error; in the list of a tenant, with their principals."""
    cursor: str
    """Where the next page begins; empty when there is none."""


class Place(NamedTuple):
    """A place in a list, which is in this order, backwards. It stays what it is when tasks come and go."""

    created_ms: int
    task_id: str

    @classmethod
    def read(cls, cursor: str) -> Self:
        """The place that a cursor names. Raises InvalidCursor."""
        found = _CURSOR.fullmatch(cursor)
        if found is None:
            raise InvalidCursor
        return cls(int(found[1]), found[2])

    @property
    def cursor(self) -> str:
        """The place as a text."""
        return f"{self.created_ms}-{self.task_id}"


class Listing:
    """Reads the lists that creations and purges keep. Methods raise `StoreUnavailable` as those of the task store do.

    Tasks of before there were lists are on none.
    """

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def page(
        self, owner: Owner, wanted: Wanted | None = None, *, of_tenant: bool = False, limit: int = 50, cursor: str = ""
    ) -> Page:
        """The next tasks of this owner, or with `of_tenant` of all owners of its tenant, after the cursor.

        A task that was there when the first page was read, and still is, is on exactly one page. A page may hold fewer
        than `limit`, even none, and have a cursor: see `MOST`.

        Raises:
            InvalidCursor: the cursor is none that a page had.
        """
        wanted = wanted or Wanted()
        place = Place.read(cursor) if cursor else None
        index = "by_tenant" if of_tenant else "by_owner"
        found: list[Task] = []
        size, read = limit + 1, 0
        while True:
            batch = self._after(place, owner, index, wanted, size)
            for next_place, task in zip(batch, self._tasks(owner, batch, of_tenant=of_tenant), strict=True):
                if task is not None and wanted.takes(task):
                    if len(found) == limit:
                        assert place is not None
                        return Page(found, place.cursor)
                    found.append(task)
                place = next_place
            read += len(batch)
            if len(batch) < size or place is None:
                return Page(found, "")
            if read >= MOST:
                return Page(found, place.cursor)
            size = BATCH

    def _after(self, place: Place | None, owner: Owner, index: str, wanted: Wanted, size: int) -> list[Place]:
        """The next so many places of all buckets; fewer only at the end."""
        floor, upper, tied = wanted.created_after_ms or 0, wanted.created_before_ms, None
        if place is not None and (upper is None or place.created_ms < upper):
            upper = place.created_ms
            # Others came into being in the same millisecond, and are on this page or on the one before.
            tied = upper if upper >= floor else None
        below = "+inf" if upper is None else f"({upper}"
        with self._sender.client() as client:
            pipeline = client.pipeline(transaction=False)
            for bucket in range(BUCKETS):
                key = listed_keys(bucket, owner)[index]
                pipeline.zrevrangebyscore(key, below, floor, start=0, num=size, withscores=True)
                if tied is not None:
                    pipeline.zrangebyscore(key, tied, tied, withscores=True)
            replies: list[Any] = pipeline.execute()
        a_bucket = len(replies) // BUCKETS
        places = [
            Place(int(created), listed_id(number // a_bucket, entry))
            for number, reply in enumerate(replies)
            for entry, created in reply
        ]
        return sorted((one for one in places if place is None or one < place), reverse=True)[:size]

    def _tasks(self, owner: Owner, places: Sequence[Place], *, of_tenant: bool) -> list[Task | None]:
        """The tasks in these places; None for one whose record is gone, or is somebody else's."""
        if not places:
            return []
        with self._sender.client() as client:
            pipeline = client.pipeline(transaction=False)
            for place in places:
                pipeline.hmget(TaskKeys.of(place.task_id).task, _FIELDS)
            records: list[Any] = pipeline.execute()
        self._drop(owner, [place for place, record in zip(places, records, strict=True) if record[0] is None])
        return [
            _task_of(place.task_id, owner, record, of_tenant=of_tenant)
            for place, record in zip(places, records, strict=True)
        ]

    def _drop(self, owner: Owner, gone: Sequence[Place]) -> None:
        """Tasks without a record are on no list, if the store takes writes now.

        They were purged by a version that knew of no lists, or their records expired while no worker was there to purge
        them. A record that is gone does not come back.
        """
        if not gone:
            return
        with suppress(StoreUnavailable), self._sender.client() as client:
            pipeline = client.pipeline(transaction=False)
            for place in gone:
                for key in listed_keys(place.task_id[0], owner).values():
                    pipeline.zrem(key, listed_as(place.task_id))
            pipeline.execute()


def _task_of(task_id: str, owner: Owner, record: Sequence[bytes | None], *, of_tenant: bool) -> Task | None:
    if None in record:
        return None
    whose, tool, status, created, updated, ttl, poll, message = (part.decode() for part in record if part is not None)
    its_owner = Owner.from_key(whose)
    if its_owner.tenant != owner.tenant or not (of_tenant or its_owner == owner):
        return None
    return Task(
        task_id=task_id,
        tool=tool,
        status=Status(status),
        created_ms=int(created),
        updated_ms=int(updated),
        ttl_ms=int(ttl),
        poll_interval_ms=int(poll),
        message=message,
        principal=its_owner.principal if of_tenant else "",
    )
