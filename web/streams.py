"""All open streams of one process, served by one thread that waits for nobody.

A thread for each stream was measured and left: a thousand of them took 28 % of a core to say nothing, and up to eight
seconds to tell all of one change. Here a change is read once, whoever listens.
"""

import logging
import selectors
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Final

from tasks_store import Event, Feed, Owner, StoreError, TaskNotFound, TaskStore
from web.errors import TooManyStreams
from web.followed import Followed
from web.outlet import Outlet, take
from web.seats import Seats
from web.stream import Opening, Stream

logger = logging.getLogger(__name__)

LOOK_S: Final = 1.0
"""The pause between two looks at every stream: whether its caller is still allowed, or it is stuck or silent."""

AWAY_S: Final = 1.0
"""The pause before the store is asked again after it did not answer."""

MOST_HELD: Final = 64 * 1024 * 1024
"""Bytes that all slow readers together may keep this process from letting go of."""

END_S: Final = 5.0
"""How long a process that ends waits for clients to take the end of their streams."""


class Streams:
    """Opens streams, tells them what changes, and ends them. Its thread is made for the first one, so after a fork.

    Any thread may call the public methods; the rest belongs to the streams' own.
    """

    def __init__(self, store: TaskStore, feed: Feed, seats: Seats, server_info: Mapping[str, str]) -> None:
        self._store = store
        self._seats = seats
        self._server_info = server_info
        self._followed = Followed(feed, self._heard)
        self._streams: set[Stream] = set()
        self._held = 0
        self._inbox: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._waker: socket.socket | None = None
        self._ends_at = float("inf")

    def take_seat(self, owner: Owner) -> None:
        """There is room for one more stream of this owner. Raises TooManyStreams, LimitReached."""
        if self._is_ending:
            raise TooManyStreams("This process is about to end; try again")
        self._seats.take(owner)

    def give_seat_back(self, owner: Owner) -> None:
        """A seat that was taken is free again, because nothing came of it."""
        self._seats.give_back(owner)

    def begin(self, opening: Opening, connection: socket.socket, head: bytes) -> None:
        """The stream is served on this connection, which is taken from its thread; its seat goes with its end."""
        try:
            outlet = Outlet(take(connection))
        except OSError:
            self.give_seat_back(opening.caller.owner)
            raise
        stream = opening.open(outlet, self._server_info)
        with self._lock:
            self._inbox.put(partial(self._adopt, stream, head))
            if self._thread is None:
                self._start()
        self._wake()

    def end_all(self) -> None:
        """Every stream ends with its result, and no other begins. Returns at once; a signal may call it."""
        if not self._is_ending:
            self._ends_at = time.monotonic() + END_S
            self._wake()

    def close(self) -> None:
        """Every stream has ended, as far as its client took the end in time."""
        self.end_all()
        if (thread := self._thread) is not None:
            thread.join()

    @property
    def _is_ending(self) -> bool:
        return self._ends_at < float("inf")

    def _heard(self, event: Event) -> None:
        """Called on the feed's thread."""
        self._inbox.put(partial(self._followed.note, event))
        self._wake()

    def _wake(self) -> None:
        if (waker := self._waker) is not None:
            with suppress(OSError):  # full, so that it wakes anyway; or closed with its thread
                waker.send(b"\0")

    def _start(self) -> None:
        waker, woken = socket.socketpair()
        waker.setblocking(False)
        self._waker = waker
        self._thread = threading.Thread(target=self._run, args=(waker, woken), name="coatcheck-streams", daemon=True)
        self._thread.start()

    def _run(self, waker: socket.socket, woken: socket.socket) -> None:
        with waker, woken, selectors.DefaultSelector() as self._selector:
            self._selector.register(woken, selectors.EVENT_READ)
            look_at = time.monotonic() + LOOK_S
            try:
                while not self._is_over():
                    self._serve(min(look_at, self._followed.next_at))
                    if time.monotonic() >= look_at or self._is_ending:
                        self._look()
                        look_at = time.monotonic() + LOOK_S
            finally:
                # Also when a fault of ours ends the thread: clients that see the end come back, and find a new one.
                for stream in list(self._streams):
                    self._drop(stream)
                with self._lock:
                    if self._thread is threading.current_thread():
                        self._thread = None

    def _is_over(self) -> bool:
        """True at the end of all streams, after which none begins on this thread."""
        with self._lock:
            is_over = self._is_ending and self._inbox.empty() and not self._streams
            if is_over or time.monotonic() > self._ends_at:
                self._thread = None
                return True
            return False

    def _serve(self, until: float) -> None:
        """What happened by now was dealt with; if it is nothing, what happens first until then."""
        for key, mask in self._selector.select(max(0.0, until - time.monotonic())):
            if isinstance(key.data, Stream):
                self._do(key.data, partial(_serve, key.data, mask))
            else:
                key.fileobj.recv(4096)  # type: ignore[union-attr]
        for _ in range(self._inbox.qsize()):
            self._inbox.get()()
        for task_id in self._followed.due():
            if not self._read(task_id):
                break

    def _read(self, task_id: str) -> bool:
        """All who follow the task have been told how it stands; False when the store did not say."""
        streams = self._followed.streams_of(task_id)
        if not streams:
            return True
        try:
            task = self._store.get(streams[0].owner, task_id)
        except TaskNotFound:
            self._followed.leave(task_id)
            for stream in streams:
                self._do(stream, partial(stream.forget, task_id))
        except StoreError as fault:
            logger.warning("the streams wait for the store: %s", fault)
            self._followed.postpone(AWAY_S)
            return False
        else:
            self._followed.was_read(task_id)
            if task.status.is_terminal:
                self._followed.leave(task_id)
            for stream in streams:
                self._do(stream, partial(stream.tell, task))
        return True

    def _adopt(self, stream: Stream, head: bytes) -> None:
        self._streams.add(stream)
        self._selector.register(stream.outlet, selectors.EVENT_READ, stream)
        self._do(stream, partial(stream.begin, head))
        if stream in self._streams and not stream.is_ended:
            self._followed.add(stream)

    def _look(self) -> None:
        for stream in list(self._streams):
            if stream.outlet.is_stuck:
                logger.info("a stream was cut, because its reader is too slow")
                self._drop(stream)
            elif self._is_ending or not stream.is_still_allowed:
                self._do(stream, stream.end)
            else:
                self._do(stream, stream.keep_alive)

    def _do(self, stream: Stream, act: Callable[[], None]) -> None:
        """The stream acted, and is gone if it has ended or its client has left."""
        before = stream.outlet.held_bytes
        has_left = False
        try:
            act()
        except OSError:
            has_left = True
        self._held += stream.outlet.held_bytes - before
        if has_left or stream.is_over:
            self._drop(stream)
            return
        wanted = selectors.EVENT_READ if stream.outlet.is_empty else selectors.EVENT_READ | selectors.EVENT_WRITE
        if self._selector.get_key(stream.outlet).events != wanted:
            self._selector.modify(stream.outlet, wanted, stream)
        while self._held > MOST_HELD:
            logger.info("a stream was cut, because slow readers hold back too much")
            self._drop(max(self._streams, key=lambda one: one.outlet.held_bytes))

    def _drop(self, stream: Stream) -> None:
        """Nothing is left of the stream."""
        self._streams.discard(stream)
        self._held -= stream.outlet.held_bytes
        self._followed.remove(stream)
        self._selector.unregister(stream.outlet)
        stream.outlet.close()
        self._seats.give_back(stream.owner)


def _serve(stream: Stream, mask: int) -> None:
    if mask & selectors.EVENT_READ:
        stream.outlet.listen()
    if mask & selectors.EVENT_WRITE:
        stream.advance()
