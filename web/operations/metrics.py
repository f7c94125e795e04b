"""`/metrics`, for Prometheus.

All processes add their counts to the store, so any of them can be scraped. Labels are names of tools, methods and
clients; never of tasks or owners.
"""

import hmac
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from flask import Blueprint, Response, abort, request
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector

from coatcheck.tasks_store import StoreError, TaskStore
from coatcheck.web.errors import RequestForbidden
from coatcheck.web.protocol.request_guard import RequestGuard
from coatcheck.web.rpc.observation import METHOD_KEY
from coatcheck.web.server.loop_monitor import BLOCKED
from coatcheck.web.settings.auth import LOOPBACK_HOSTS, is_loopback
from coatcheck.web.settings.web import ServerSettings
from coatcheck.web.streams.connections import Connections, ConnectionsOfProcess
from coatcheck.workers.telemetry.logs import begin
from coatcheck.workers.telemetry.metrics import (
    BUCKETS_S,
    QUEUE_TIMES,
    RUN_TIMES,
    RUNS,
    SEPARATOR,
    SETTLED,
    SUM,
    TRANSITIONS,
)
from coatcheck.workers.toolkit.errors import BrokerUnavailable
from coatcheck.workers.toolkit.tool import Catalogue

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

REQUESTS: Final = "requests"
"""Requests by method and HTTP status."""
REQUEST_TIMES: Final = "request_seconds"
"""A histogram of seconds until the head of a response, by method."""

LIMITS_REACHED: Final = "limits_reached"
"""Refusals by the limit that was reached."""

REQUESTS_WITHOUT_NAME: Final = "requests_without_name"
"""Requests about a task without the header `Mcp-Name`, by the client's name."""

COUNTERS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    REQUESTS: ("Requests to the MCP endpoint", ("method", "status")),
    REQUESTS_WITHOUT_NAME: ("Requests about a task that were served without the header Mcp-Name", ("client",)),
    LIMITS_REACHED: ("Requests refused because a limit was reached", ("limit",)),
    RUNS: ("Runs that ended", ("tool", "outcome")),
    SETTLED: ("Exposed tasks that ended with their work", ("tool", "status")),
    BLOCKED: ("Times that the event loop of a web process was blocked for a second", ()),
    TRANSITIONS: ("What the sweeper did: expire, recover, resend, lapse", ("kind",)),
}
HISTOGRAMS: Final[Mapping[str, tuple[str, str]]] = {
    REQUEST_TIMES: ("How long a request took to the head of its response", "method"),
    RUN_TIMES: ("How long a run took", "tool"),
    QUEUE_TIMES: ("How long a task waited for its first run", "tool"),
}

OTHER_LABEL: Final = "?"
"""Label of any other method or client."""


CLIENT_NAME: Final = re.compile(r"[A-Za-z0-9_./@ -]{1,64}")
"""Client names that can become a label; any other is counted as `OTHER_LABEL`."""

MAX_CLIENT_NAMES: Final = 20
"""Client names that become labels. Clients choose their names, and each stays in the store for ever."""


class ClientNameCounter:
    """Counts requests by client name, with a limited number of names."""

    def __init__(self, connections: ConnectionsOfProcess) -> None:
        self._connections = connections
        self._known: set[str] | None = None

    def count(self, client: str) -> None:
        """Count a request without `Mcp-Name` from a client of this name."""
        self._connections.measures.count(REQUESTS_WITHOUT_NAME, self._label(client))

    def _label(self, client: str) -> str:
        try:
            if self._known is None:
                # The limit holds for the names that all processes have counted.
                counted = _by_name(self._connections().store.statistics.counts())[REQUESTS_WITHOUT_NAME]
                self._known = {name for (name,) in counted}
        except StoreError:
            return OTHER_LABEL
        if client not in self._known:
            if len(self._known) >= MAX_CLIENT_NAMES or not CLIENT_NAME.fullmatch(client):
                return OTHER_LABEL
            self._known.add(client)
        return client


class MetricsMiddleware:
    """WSGI middleware that counts and times requests to the MCP endpoint.

    The endpoint sets the method. For a request that is refused before its body is read, the header is used.
    """

    def __init__(self, app: "WSGIApplication", connections: ConnectionsOfProcess, methods: Collection[str]) -> None:
        self._app = app
        self._measures = connections.measures
        self._methods = frozenset(methods)

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        """Handle the request, and count it when the head of the response is sent."""
        begin()
        if not environ["PATH_INFO"].startswith("/mcp"):
            return self._app(environ, start_response)
        begun = time.monotonic()
        named: str = environ.get("HTTP_MCP_METHOD", OTHER_LABEL)
        by_header = named if named in self._methods else OTHER_LABEL

        def counted(status: str, *rest: Any) -> Any:
            method: str = environ.get(METHOD_KEY, by_header)
            self._measures.count(REQUESTS, method, status[:3])
            self._measures.time(REQUEST_TIMES, method, time.monotonic() - begun)
            return start_response(status, *rest)

        return self._app(environ, counted)


def metrics(
    settings: ServerSettings, catalogue: Catalogue, connections: Callable[[], Connections], guard: RequestGuard
) -> Blueprint:
    """Return the route, for holders of the token, or without a token for programs on this machine."""
    blueprint = Blueprint("metrics", __name__)
    token = settings.web.metrics_token

    @blueprint.get("/metrics")
    def show() -> Response:
        if token:
            given = request.headers.get("Authorization", "")
            if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
                abort(401)
        elif settings.web.host not in LOOPBACK_HOSTS or not is_loopback(request.remote_addr):
            abort(404)  # an option can have opened another address, and a unix socket does not say who asks
        try:
            guard.check(request, allow_ip_addresses=bool(token))
        except RequestForbidden as fault:
            return Response(f"{fault}\n", 403, mimetype="text/plain")
        registry = CollectorRegistry(auto_describe=False)
        registry.register(DeploymentCollector(connections(), _queues(settings, catalogue)))
        try:
            return Response(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)
        except StoreError:
            abort(503)

    return blueprint


class DeploymentCollector(Collector):
    """Collects the counts of all processes and the current state."""

    def __init__(self, connections: Connections, queues: Collection[str]) -> None:
        self._connections = connections
        self._queues = queues

    def collect(self) -> Iterator[Any]:
        """Yield each metric family."""
        store = self._connections.store
        counts = _by_name(store.statistics.counts())
        for name, (said, labels) in COUNTERS.items():
            family = CounterMetricFamily(f"coatcheck_{name}", said, labels=labels)
            for values, count in counts[name].items():
                family.add_metric(values, count)
            yield family
        for name, (said, label) in HISTOGRAMS.items():
            yield _histogram(name, said, label, counts[name])
        yield from self._now(store)

    def _now(self, store: TaskStore) -> Iterator[Any]:
        tasks = GaugeMetricFamily(
            "coatcheck_tasks", "Records by status; ended ones until they expire", labels=["status"]
        )
        for status, count in store.statistics.statuses().items():
            tasks.add_metric([status], count)
        yield tasks
        yield GaugeMetricFamily("coatcheck_workers", "Workers seen lately", value=store.maintenance.workers_alive())
        yield GaugeMetricFamily("coatcheck_streams", "Open streams", value=store.statistics.streams())
        waiting = GaugeMetricFamily("coatcheck_queue_messages", "Messages that wait for a worker", labels=["queue"])
        for queue in self._queues:
            try:
                waiting.add_metric([queue], self._connections.dispatcher.backlog(queue))
            except BrokerUnavailable:
                break  # an absent value says more than a wrong one
        yield waiting


def _queues(settings: ServerSettings, catalogue: Catalogue) -> list[str]:
    return sorted({settings.workers.queue, *(tool.queue for tool in catalogue if tool.queue)})


def _by_name(counts: Mapping[str, int]) -> dict[str, dict[tuple[str, ...], int]]:
    """Return the counts by name, then by labels."""
    found: dict[str, dict[tuple[str, ...], int]] = defaultdict(dict)
    for key, count in counts.items():
        name, *labels = key.split(SEPARATOR)
        found[name][tuple(labels)] = count
    return found


def _histogram(name: str, said: str, label: str, counts: Mapping[tuple[str, ...], int]) -> HistogramMetricFamily:
    family = HistogramMetricFamily(f"coatcheck_{name}", said, labels=[label])
    by_label: dict[str, Counter[str]] = defaultdict(Counter)
    for (value, part), count in counts.items():
        by_label[value][part] = count
    ends = [*map(str, BUCKETS_S), "+Inf"]
    for value, parts in by_label.items():
        so_far, buckets = 0, []
        for number, end in enumerate(ends):
            so_far += parts[str(number)]
            buckets.append((end, so_far))
        family.add_metric([value], buckets, parts[SUM] / 1000)
    return family
