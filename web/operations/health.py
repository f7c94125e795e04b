"""Liveness and readiness of a web process."""

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
NO_ANSWER: Final = "away"
"""The server does not respond."""
REFUSES: Final = "refuses"
"""The server responds and refuses what a call needs: it is full or read-only, or a right is missing. The log names the
reason."""

CACHE_S: Final = 1.0
"""Seconds that a verdict is cached, so that frequent requests cost store and broker one probe a second."""


@dataclass(frozen=True, slots=True)
class Readiness:
    """What a call needs: the store, the broker and live workers."""

    store: str
    broker: str
    workers: int

    @property
    def is_ready(self) -> bool:
        """Tell whether a call would be answered and processed."""
        return self.store == OK and self.broker == OK and self.workers > 0


class ReadinessProbe:
    """Probes store and broker, once for all concurrent requests."""

    def __init__(self, connections: Callable[[], Connections]) -> None:
        self._connections = connections
        self._lock = threading.Lock()
        self._verdict = Readiness(NO_ANSWER, NO_ANSWER, 0)
        self._made_at = float("-inf")

    def verdict(self) -> Readiness:
        """Return the readiness of at most a second ago."""
        with self._lock:
            if time.monotonic() - self._made_at > CACHE_S:
                self._verdict = self._made()
                self._made_at = time.monotonic()
            return self._verdict

    def _made(self) -> Readiness:
        here = self._connections()
        store, workers = _store(here)
        return Readiness(store, _broker(here), workers)


def health(connections: Callable[[], Connections]) -> Blueprint:
    """Return the routes of health checks.

    They reveal nothing about tasks, so they are public and accept any `Host`: platforms use the address of the process,
    or names of their own.
    """
    blueprint = Blueprint("health", __name__)
    trial = ReadinessProbe(connections)

    @blueprint.get("/healthz")
    def alive() -> ResponseReturnValue:
        """Respond without any look-up, so that an outage of Redis does not restart web processes."""
        return jsonify(status=OK)

    @blueprint.get("/readyz")
    def ready() -> ResponseReturnValue:
        """Respond with 200 when store and broker work and a worker takes messages, else with 503."""
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
        return NO_ANSWER, 0


def _broker(connections: Connections) -> str:
    try:
        connections.dispatcher.probe()
    except BrokerRefused as fault:
        logger.warning("not ready: %s", fault)
        return REFUSES
    except BrokerUnavailable:
        return NO_ANSWER
    return OK
