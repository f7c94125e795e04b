"""Which tasks the streams of a process follow, and when each of them is to be read again. For one thread."""

import time
from collections.abc import Callable
from typing import Final

from tasks_store import Event, Feed
from web.stream import Stream

PROGRESS_S: Final = 1.0
"""The least time between two readings of a task that only reports progress; any other change is read at once."""


class Followed:
    """The streams of each task. A task is followed on the feed for as long as it has one."""

    def __init__(self, feed: Feed, heard: Callable[[Event], None]) -> None:
        """`heard` takes the events, on the feed's thread."""
        self._feed = feed
        self._heard = heard
        self._streams: dict[str, set[Stream]] = {}
        self._due: dict[str, float] = {}
        self._read_at: dict[str, float] = {}

    @property
    def next_at(self) -> float:
        """When the next task is to be read."""
        return min(self._due.values(), default=float("inf"))

    def due(self) -> list[str]:
        """The tasks that are to be read now."""
        now = time.monotonic()
        return [task_id for task_id, at in self._due.items() if at <= now]

    def streams_of(self, task_id: str) -> list[Stream]:
        """Who is to be told what was read of a task."""
        return list(self._streams.get(task_id, ()))

    def add(self, stream: Stream) -> None:
        """The stream's tasks are followed, and then read: so no state is missed, whenever it was reached."""
        for task_id in stream.task_ids:
            if task_id not in self._streams:
                self._streams[task_id] = set()
                self._feed.follow(task_id, self._heard)
            self._streams[task_id].add(stream)
            self._due[task_id] = time.monotonic()

    def remove(self, stream: Stream) -> None:
        """The stream follows nothing."""
        for task_id in stream.task_ids:
            if (streams := self._streams.get(task_id)) is not None:
                streams.discard(stream)
                if not streams:
                    self.leave(task_id)

    def leave(self, task_id: str) -> None:
        """Nobody follows the task: it has ended, or nobody is left."""
        del self._streams[task_id]
        self._due.pop(task_id, None)
        self._read_at.pop(task_id, None)
        self._feed.unfollow(task_id, self._heard)

    def note(self, event: Event) -> None:
        """The task of this event is going to be read."""
        if event.task_id in self._streams:
            now = time.monotonic()
            at = now if event.progress is None else max(now, self._read_at.get(event.task_id, now) + PROGRESS_S)
            self._due[event.task_id] = min(at, self._due.get(event.task_id, at))

    def was_read(self, task_id: str) -> None:
        """The task is not read again before something happens to it."""
        self._due.pop(task_id, None)
        self._read_at[task_id] = time.monotonic()

    def postpone(self, seconds: float) -> None:
        """No task is read before so many seconds have passed."""
        at = time.monotonic() + seconds
        self._due = {task_id: max(at, due_at) for task_id, due_at in self._due.items()}
