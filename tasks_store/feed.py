"""Tells the threads of one process what happens to the tasks they watch: one connection for all of them."""

import logging
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager

from redis.exceptions import RedisError

from tasks_store.client import Patience, connector
from tasks_store.keys import FEED
from tasks_store.model import Event
from tasks_store.settings import StoreSettings

log = logging.getLogger(__name__)

RECONNECT_SECONDS = 0.5
"""The pause after a lost connection."""

SUBSCRIBE_SECONDS = 2.0
"""How long the first watch waits for the subscription; later than that, the subscription itself is an event."""

BACKLOG = 100
"""How many events a slow watcher may leave unread; the oldest are dropped, the record has the truth."""


class Watch:
    """What one thread has not yet read about one task."""

    def __init__(self, task_id: str) -> None:
        self.task_id = task_id
        self._events: deque[Event] = deque(maxlen=BACKLOG)
        self._news = threading.Condition()

    def put(self, event: Event) -> None:
        """The event is there to be read."""
        with self._news:
            self._events.append(event)
            self._news.notify()

    def wait(self, seconds: float) -> list[Event]:
        """The events since the last wait, oldest first; an empty list when none came in time."""
        with self._news:
            self._news.wait_for(lambda: self._events, seconds)
            events = list(self._events)
            self._events.clear()
            return events


class Feed:
    """The change feed of the store, for as long as anybody in this process watches.

    After a lost connection every watcher gets one event, because something may have been missed. Thread-safe; the
    connection and its thread are made with the first watch, so after a fork.
    """

    def __init__(self, settings: StoreSettings) -> None:
        self._connect = connector(settings, Patience.READER)
        self._watches: dict[str, set[Watch]] = {}
        self._lock = threading.Lock()
        self._subscribed = threading.Event()
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()

    @contextmanager
    def watch(self, task_id: str) -> Iterator[Watch]:
        """Events of this task from now on: what happens after the block is entered is not missed."""
        watch = Watch(task_id)
        with self._lock:
            self._watches.setdefault(task_id, set()).add(watch)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="coatcheck-feed", daemon=True)
                self._thread.start()
        self._subscribed.wait(SUBSCRIBE_SECONDS)
        try:
            yield watch
        finally:
            with self._lock:
                watching = self._watches[task_id]
                watching.discard(watch)
                if not watching:
                    del self._watches[task_id]

    def close(self) -> None:
        """The connection is closed and the thread has ended."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                self._read()
            except RedisError as fault:
                log.warning("The feed lost its connection and makes a new one: %s", fault)
            self._subscribed.clear()
            self._closing.wait(RECONNECT_SECONDS)

    def _read(self) -> None:
        """Every event is told, until the feed closes or the connection is lost."""
        with closing(self._connect()) as client, client.pubsub() as channel:  # type: ignore[no-untyped-call]
            channel.subscribe(FEED)
            while not self._closing.is_set():
                message = channel.get_message(timeout=1.0)
                if message is None:
                    continue
                if message["type"] == "subscribe":
                    self._subscribed.set()
                    self._tell_all()
                else:
                    self._tell(message["data"])

    def _tell(self, data: bytes) -> None:
        task_id, _, progress = data.partition(b" ")
        name = task_id.decode()
        with self._lock:
            watching = list(self._watches.get(name, ()))
        for watch in watching:
            watch.put(Event(name, progress or None))

    def _tell_all(self) -> None:
        with self._lock:
            watching = [watch for watches in self._watches.values() for watch in watches]
        for watch in watching:
            watch.put(Event(watch.task_id))
