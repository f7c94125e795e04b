"""Tells the threads of one process what happens to the tasks they watch: one connection for all of them."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from redis.exceptions import ConnectionError as ConnectionLost

from coatcheck.tasks_store.connections import Patience, connector
from coatcheck.tasks_store.keys import FEED
from coatcheck.tasks_store.model import Event
from coatcheck.tasks_store.settings import StoreSettings

log = logging.getLogger(__name__)

RECONNECT_SECONDS = 0.5
"""The pause after a lost connection."""

PING_SECONDS = 5.0
"""How long the server is silent before it is asked whether it is there."""

SILENCE_SECONDS = 15.0
"""How long the server may be silent before the connection counts as lost: a half-open one brings no error, ever."""

BACKLOG = 100
"""How many events a slow watcher may leave unread; the oldest are dropped, the record has the truth."""

Tell = Callable[[Event], None]
"""Takes an event on the feed's own thread, so it must neither wait nor raise."""


class Watch:
    """What one thread has not yet read about one task."""

    def __init__(self) -> None:
        self._events: deque[Event] = deque(maxlen=BACKLOG)
        self._is_woken = threading.Event()

    def put(self, event: Event) -> None:
        """Leave the event to be read."""
        self._events.append(event)
        self._is_woken.set()

    def wake(self) -> None:
        """End the wait that is going on, or the next one."""
        self._is_woken.set()

    def wait(self, seconds: float) -> list[Event]:
        """Return the events since the last wait, oldest first; an empty list when none came in time."""
        self._is_woken.wait(seconds)
        self._is_woken.clear()
        return [self._events.popleft() for _ in range(len(self._events))]


class Feed:
    """The change feed of the store, for as long as anybody in this process follows a task.

    Whenever the connection is made, and so after a lost one too, everybody is told one event of each task that they
    follow, because something may have been missed. Thread-safe; the connection and its thread are made for the first
    follower, so after a fork.
    """

    def __init__(self, settings: StoreSettings) -> None:
        self._connect = connector(settings, Patience.READER)
        self._followers: dict[str, set[Tell]] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()

    @contextmanager
    def watch(self, task_id: str) -> Iterator[Watch]:
        """Events of this task from now on: what happens after the block is entered is not missed."""
        watch = Watch()
        self.follow(task_id, watch.put)
        try:
            yield watch
        finally:
            self.unfollow(task_id, watch.put)

    def follow(self, task_id: str, tell: Tell) -> None:
        """Events of this task are told from now on; what happens after this is not missed."""
        with self._lock:
            self._followers.setdefault(task_id, set()).add(tell)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="coatcheck-feed", daemon=True)
                self._thread.start()

    def unfollow(self, task_id: str, tell: Tell) -> None:
        """Events of this task are told no more, but for one that is on its way."""
        with self._lock:
            followers = self._followers[task_id]
            followers.discard(tell)
            if not followers:
                del self._followers[task_id]

    def close(self) -> None:
        """The connection is closed and the thread has ended."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                self._read()
            except Exception as fault:  # noqa: BLE001 - without this thread nobody in the process hears of anything
                log.warning("The feed lost its connection and makes a new one: %s: %s", type(fault).__name__, fault)
            self._closing.wait(RECONNECT_SECONDS)

    def _read(self) -> None:
        """Every event is told, until the feed closes or the connection is lost."""
        with closing(self._connect()) as client, client.pubsub() as channel:  # type: ignore[no-untyped-call]
            channel.subscribe(FEED)
            heard = asked = time.monotonic()
            while not self._closing.is_set():
                message = channel.get_message(timeout=1.0)
                now = time.monotonic()
                if message is not None:
                    heard = asked = now
                    self._take(message)
                elif now - heard > SILENCE_SECONDS:
                    raise ConnectionLost(f"silent for {SILENCE_SECONDS:g} seconds")
                elif now - asked > PING_SECONDS:
                    asked = now
                    channel.ping()

    def _take(self, message: dict[str, object]) -> None:
        match message:
            case {"type": "subscribe"}:
                with self._lock:
                    names = list(self._followers)
                for name in names:
                    self._tell(Event(name))
            case {"type": "message", "data": bytes(data)}:
                task_id, _, progress = data.partition(b" ")
                self._tell(Event(task_id.decode(errors="replace"), progress or None))

    def _tell(self, event: Event) -> None:
        with self._lock:
            followers = list(self._followers.get(event.task_id, ()))
        for tell in followers:
            tell(event)
