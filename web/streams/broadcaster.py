"""Deliver task changes to the streams of a process; each change is read once for all of them."""

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from coatcheck.tasks_store import Event, Feed, Owner, Status, StoreUnavailable, Task, TaskStore
from coatcheck.web.errors import TooManyStreams
from coatcheck.web.streams.concurrency_limit import ConcurrencyLimit
from coatcheck.web.streams.waiting import WAKE

logger = logging.getLogger(__name__)

PROGRESS_INTERVAL_S: Final = 1.0
"""Seconds between two reads of a task that only reports progress; any other change is read at once."""

STORE_RETRY_S: Final = 1.0
"""Seconds before the store is read again after it was unavailable."""


MAX_SHARED_RESULT_BYTES: Final = 32 * 1024
"""Bytes of a result that is kept in memory for all its subscribers. A larger one is read by each of them."""


class Subscriber:
    """The unsent states of one stream's tasks: the newest of each task, without repeats."""

    def __init__(self, owner: Owner, task_ids: Sequence[str]) -> None:
        self.owner = owner
        self.task_ids = tuple(dict.fromkeys(task_ids))
        self._known: dict[str, object] = {}
        self._news: dict[str, Task | None] = {}
        self._lock = threading.Lock()
        self._is_woken = threading.Event()

    def put(self, task_id: str, task: Task | None) -> None:
        """Record the task's state; None when the task is gone."""
        known = None if task is None else _looks_of(task)
        with self._lock:
            if task_id in self._known and self._known[task_id] == known:
                return
            self._known[task_id] = known
            self._news[task_id] = task
        self._is_woken.set()

    def wake(self) -> None:
        """End the current wait for news, or the next one."""
        self._is_woken.set()

    def take(self, seconds: float) -> Mapping[str, Task | None]:
        """Wait for news, at most `seconds`, and return them by task id; empty when there are none."""
        self._is_woken.wait(seconds)
        self._is_woken.clear()
        with self._lock:
            news, self._news = self._news, {}
        return news


def _looks_of(task: Task) -> object:
    """Return the fields whose change is news. The result is not among them: a task ends once."""
    return task.status, task.updated_ms, task.message, task.progress, tuple(task.input_requests)


class TaskBroadcaster:
    """Reads changed tasks in one thread, and passes them to the subscribers of each. The thread starts with the first
    subscriber, so after a fork.

    Thread-safe.
    """

    def __init__(self, store: TaskStore, feed: Feed, limit: ConcurrencyLimit) -> None:
        self._store = store
        self._feed = feed
        self._limit = limit
        self._subscribers: dict[str, set[Subscriber]] = {}
        self._due: dict[str, float] = {}
        """When to read each task that is to be read, on the monotonic clock."""
        self._read_at: dict[str, float] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self.is_ending = False
        """True during shutdown: streams end with their result, and new ones are refused."""

    @property
    def open(self) -> int:
        """The number of open streams."""
        return self._limit.taken

    @contextmanager
    def slot(self, owner: Owner) -> Iterator[None]:
        """Hold a slot for a stream of this owner. Raises TooManyStreams, LimitReached."""
        if self.is_ending:
            raise TooManyStreams("This process is about to end; try again")
        with self._limit.slot(owner):
            yield

    @contextmanager
    def subscribe(self, owner: Owner, task_ids: Sequence[str]) -> Iterator[Subscriber]:
        """Subscribe to these tasks of this owner: their current states come first, and no later one is missed."""
        subscriber = Subscriber(owner, task_ids)
        try:
            for task_id in subscriber.task_ids:
                self._add(subscriber, task_id)
            WAKE.set(subscriber.wake)
            yield subscriber
        finally:
            for task_id in subscriber.task_ids:
                self._remove(subscriber, task_id)

    def whole(self, owner: Owner, task: Task) -> Task:
        """Return the task with its result, reading a large one now. Raises TaskNotFound, StoreUnavailable."""
        is_left_out = task.status is Status.COMPLETED and task.result is None
        return self._store.get(owner, task.task_id) if is_left_out else task

    def end_all(self) -> None:
        """End every stream, and refuse new ones. Return at once."""
        if not self.is_ending:
            self.is_ending = True
            with self._changed:
                subscribers = {one for those in self._subscribers.values() for one in those}
                self._changed.notify()
            for subscriber in subscribers:
                subscriber.wake()

    def close(self) -> None:
        """End all streams and the thread."""
        self.end_all()
        if (thread := self._thread) is not None:
            thread.join()

    def _add(self, subscriber: Subscriber, task_id: str) -> None:
        with self._changed:
            if task_id not in self._subscribers:
                self._subscribers[task_id] = set()
                self._feed.follow(task_id, self._heard)
            self._subscribers[task_id].add(subscriber)
            # Read once it is followed, so that no state is missed.
            self._due[task_id] = time.monotonic()
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="coatcheck-streams", daemon=True)
                self._thread.start()
            self._changed.notify()

    def _remove(self, subscriber: Subscriber, task_id: str) -> None:
        with self._changed:
            subscribers = self._subscribers.get(task_id, set())
            if subscriber not in subscribers:
                return
            subscribers.discard(subscriber)
            if subscribers:
                return
            del self._subscribers[task_id]
            self._due.pop(task_id, None)
            self._read_at.pop(task_id, None)
            self._feed.unfollow(task_id, self._heard)

    def _heard(self, event: Event) -> None:
        """Called on the feed's thread."""
        with self._changed:
            if event.task_id not in self._subscribers:
                return
            now = time.monotonic()
            at = (
                now if event.progress is None else max(now, self._read_at.get(event.task_id, now) + PROGRESS_INTERVAL_S)
            )
            self._due[event.task_id] = min(at, self._due.get(event.task_id, at))
            self._changed.notify()

    def _run(self) -> None:
        while not self.is_ending:
            task_ids = self._wait_for_due()
            try:
                self._read(task_ids)
            except Exception as fault:  # noqa: BLE001 - without this thread all streams of the process would be silent
                logger.warning("tasks are read for their streams one by one: %s", type(fault).__name__)
                for task_id in task_ids:
                    self._read_alone(task_id)

    def _wait_for_due(self) -> list[str]:
        """Wait for tasks that are due, and return them; empty at shutdown."""
        with self._changed:
            while not self.is_ending:
                now = time.monotonic()
                due = [task_id for task_id, at in self._due.items() if at <= now]
                if due:
                    for task_id in due:
                        del self._due[task_id]  # what happens from now on is read again
                        self._read_at[task_id] = now
                    return due
                next_at = min(self._due.values(), default=None)
                self._changed.wait(None if next_at is None else next_at - now)
        return []

    def _read(self, task_ids: Sequence[str]) -> None:
        """Read these tasks and pass them to their subscribers."""
        with self._changed:
            following = [(task_id, list(found)) for task_id in task_ids if (found := self._subscribers.get(task_id))]
        try:
            wanted = [(subscribers[0].owner, task_id) for task_id, subscribers in following]
            tasks = self._store.get_all(wanted, MAX_SHARED_RESULT_BYTES)
        except StoreUnavailable as fault:
            logger.warning("the streams wait for the store: %s", fault)
            with self._changed:
                for task_id in self._subscribers.keys() & task_ids:
                    self._due.setdefault(task_id, time.monotonic() + STORE_RETRY_S)
            return
        for (task_id, subscribers), task in zip(following, tasks, strict=True):
            for subscriber in subscribers:
                subscriber.put(task_id, task)

    def _read_alone(self, task_id: str) -> None:
        """Read one task for its subscribers; one that cannot be read counts as gone."""
        try:
            self._read([task_id])
        except Exception:
            logger.exception("task %s cannot be read for its streams", task_id)
            with self._changed:
                subscribers = list(self._subscribers.get(task_id, ()))
            for subscriber in subscribers:
                subscriber.put(task_id, None)
