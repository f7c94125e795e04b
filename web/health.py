"""Whether this process is alive, and whether a call would be answered."""

from collections.abc import Callable

from flask import Blueprint, jsonify
from flask.typing import ResponseReturnValue

from tasks_store import StoreRefused, StoreUnavailable
from web.connections import Connections
from workers.errors import BrokerUnavailable

OK = "ok"
AWAY = "away"


def health(connections: Callable[[], Connections]) -> Blueprint:
    """Return the routes that platforms look at.

    They say nothing of tasks, so everybody may look, by whatever `Host`: platforms ask by the address of the process,
    or by names of their own.
    """
    blueprint = Blueprint("health", __name__)

    @blueprint.get("/healthz")
    def alive() -> ResponseReturnValue:
        """The process answers; nothing else is touched, so that an outage of Redis restarts nobody."""
        return jsonify(status=OK)

    @blueprint.get("/readyz")
    def ready() -> ResponseReturnValue:
        """A call would be answered: the store and the broker are there, and a worker was seen lately."""
        here = connections()
        store, workers = _store(here)
        broker = _broker(here)
        is_ready = store == OK and broker == OK and workers > 0
        return jsonify(store=store, broker=broker, workers=workers), 200 if is_ready else 503

    return blueprint


def _store(connections: Connections) -> tuple[str, int]:
    try:
        return OK, connections.store.workers_alive()
    except (StoreUnavailable, StoreRefused):
        return AWAY, 0


def _broker(connections: Connections) -> str:
    try:
        connections.dispatcher.check()
    except BrokerUnavailable:
        return AWAY
    return OK
