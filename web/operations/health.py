"""Whether this process is alive, and whether a call would be answered."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from flask import Blueprint, jsonify
from flask.typing import ResponseReturnValue

from coatcheck.tasks_store import StoreRefused, StoreUnavailable
from coatcheck.web.streams.connections import Connections
from coatcheck.workers.toolkit.errors import BrokerRefused, BrokerUnavailable

logger = logging.getLogger(__name__)

OK: Final = "ok"
AWAY: Final = "away"
"""It does not answer."""
REFUSES: Final = "refuses"
"""It answers, and does not do what a call needs: it is full or read-only, or a right is missing. The log says which."""

GOOD_FOR_S: Final = 1.0
"""How long a verdict holds, so that whoever asks often costs the store and the broker one trial a second."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """What a call would meet."""

    store: str
    broker: str
    workers: int

    @property
    def is_ready(self) -> bool:
        """A call would be answered and worked on."""
        return self.store == OK and self.broker == OK and self.workers > 0


class Trial:
    """Does what a call needs of store and broker, once for all who ask at the same time."""

    def __init__(self, connections: Callable[[], Connections]) -> None:
        self._connections = connections
        self._lock = threading.Lock()
        self._verdict = Readiness(AWAY, AWAY, 0)
        self._made_at = float("-inf")

    def verdict(self) -> Readiness:
        """Return what was found, a second ago at most."""
        with self._lock:
            if time.monotonic() - self._made_at > GOOD_FOR_S:
                self._verdict = self._made()
                self._made_at = time.monotonic()
            return self._verdict

    def _made(self) -> Readiness:
        here = self._connections()
        store, workers = _store(here)
        return Readiness(store, _broker(here), workers)


def health(connections: Callable[[], Connections]) -> Blueprint:
    """Return the routes that platforms look at.

    They say nothing of tasks, so everybody may look, by whatever `Host`: platforms ask by the address of the process,
    or by names of their own.
    """
    blueprint = Blueprint("health", __name__)
    trial = Trial(connections)

    @blueprint.get("/healthz")
    def alive() -> ResponseReturnValue:
        """The process answers; nothing else is touched, so that an outage of Redis restarts nobody."""
        return jsonify(status=OK)

    @blueprint.get("/readyz")
    def ready() -> ResponseReturnValue:
        """A call would be answered: store and broker do what it needs, and a worker takes messages."""
        found = trial.verdict()
        return jsonify(store=found.store, broker=found.broker, workers=found.workers), 200 if found.is_ready else 503

    return blueprint


def _store(connections: Connections) -> tuple[str, int]:
    try:
        connections.store.probe()
        return OK, connections.store.maintenance.workers_alive()
    except StoreRefused as fault:
        logger.warning("not ready: %s", fault)
        return REFUSES, 0
    except StoreUnavailable:
        return AWAY, 0


def _broker(connections: Connections) -> str:
    try:
        connections.dispatcher.probe()
    except BrokerRefused as fault:
        logger.warning("not ready: %s", fault)
        return REFUSES
    except BrokerUnavailable:
        return AWAY
    return OK
