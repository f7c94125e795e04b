"""The connections of a web process."""

from collections.abc import Mapping
from dataclasses import dataclass

from coatcheck.tasks_store import Feed, Patience, TaskStore
from coatcheck.tasks_store.per_process import PerProcess
from coatcheck.web.errors import TooManyStreams, TooManyWaiting
from coatcheck.web.settings.web import ServerSettings
from coatcheck.web.streams.broadcaster import TaskBroadcaster
from coatcheck.web.streams.concurrency_limit import ConcurrencyLimit
from coatcheck.web.streams.waiting import Shutdown
from coatcheck.workers.messages.dispatcher import Dispatcher
from coatcheck.workers.telemetry.metrics import Gauge, Measures
from coatcheck.workers.toolkit.tool import Catalogue


@dataclass(frozen=True, slots=True)
class Connections:
    """The store, its feed, the streams and the dispatcher. Each connects at its first use."""

    store: TaskStore
    feed: Feed
    streams: TaskBroadcaster
    waiting: ConcurrencyLimit
    """Limits the calls that wait for their jobs."""
    dispatcher: Dispatcher


class ConnectionsOfProcess:
    """The connections of the current process: processes that share a socket receive each other's responses."""

    def __init__(self, settings: ServerSettings, catalogue: Catalogue) -> None:
        self._settings = settings
        self._catalogue = catalogue
        self._connections = PerProcess(self._make)
        self.measures = Measures(self._add, Gauge(lambda: self().streams.open, self._report))

    def __call__(self) -> Connections:
        """Return this process's connections; the first request creates them, so after every fork."""
        return self._connections.get()

    def end_streams(self) -> None:
        """End the streams of this process, and refuse new ones. Return at once."""
        Shutdown.begin()
        if (made := self._connections.made()) is not None:
            made.streams.end_all()

    def close(self) -> None:
        """Close the connections of this process and end its streams; the next request creates new ones."""
        self.measures.close()
        if (made := self._connections.pop()) is not None:
            made.streams.close()
            made.feed.close()
            made.dispatcher.close()
            made.store.close()

    def _add(self, process: str, number: int, counts: Mapping[str, int]) -> None:
        self().store.statistics.add(process, number, counts)

    def _report(self, process: str, streams: int) -> None:
        self().store.statistics.report_streams(process, streams)

    def _make(self) -> Connections:
        settings = self._settings
        web = settings.web
        store, feed = TaskStore(settings.store, Patience.DOOR), Feed(settings.store)
        # Without authentication all callers are one owner, who can use every slot.
        is_open = settings.auth.mode == "none"
        streams = ConcurrencyLimit(
            "streams",
            web.streams,
            0 if is_open else web.streams_per_owner,
            lambda: TooManyStreams("This process holds as many streams as it may; poll, or try again later"),
        )
        waiting = ConcurrencyLimit(
            "waiting calls",
            web.waiting,
            0 if is_open else web.waiting_per_owner,
            lambda: TooManyWaiting("Too many calls are waiting for their results; try again, or use tasks"),
        )
        if settings.waiting_threads is not None:
            streams = waiting = ConcurrencyLimit(
                "waiting calls",
                settings.waiting_threads,
                0,
                lambda: TooManyWaiting("This server has no thread left in which a call can wait; poll, or use tasks"),
            )
        dispatcher = Dispatcher(settings.workers, settings.store, self._catalogue)
        return Connections(store, feed, TaskBroadcaster(store, feed, streams), waiting, dispatcher)
