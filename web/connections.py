"""What a web process is connected to."""

import os
from dataclasses import dataclass

from tasks_store import Feed, Patience, TaskStore
from web.settings import Settings
from workers.signatures import Dispatcher
from workers.tool import Catalogue


@dataclass(frozen=True, slots=True)
class Connections:
    """The store, its feed, and the way to the workers. Each connects when it is first used."""

    store: TaskStore
    feed: Feed
    dispatcher: Dispatcher


class ConnectionsOfProcess:
    """The connections of whatever process asks: a socket that two processes share mixes up their answers."""

    def __init__(self, settings: Settings, catalogue: Catalogue) -> None:
        self._settings = settings
        self._catalogue = catalogue
        self._by_pid: dict[int, Connections] = {}

    def __call__(self) -> Connections:
        """This process's own; made by its first request, so after every fork."""
        pid = os.getpid()
        # Two first requests may make two; one is kept, the other was never connected.
        return self._by_pid.get(pid) or self._by_pid.setdefault(pid, self._make())

    def close(self) -> None:
        """The connections of this process are closed; the next request makes new ones."""
        if (made := self._by_pid.pop(os.getpid(), None)) is not None:
            made.feed.close()
            made.dispatcher.close()
            made.store.close()

    def _make(self) -> Connections:
        store = self._settings.store
        return Connections(
            TaskStore(store, Patience.DOOR),
            Feed(store),
            Dispatcher(self._settings.workers, store, self._catalogue),
        )
