"""The parts of a deployment, each tried once."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from http.client import HTTPException
from typing import Final
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from coatcheck.tasks_store import Patience, StoreError, StoreForbidden, StoreRefused, TaskStore
from coatcheck.tasks_store.server_checks import unfitness
from coatcheck.web.auth.http_fetch import LIMIT_S
from coatcheck.web.auth.jwks import Keys
from coatcheck.web.auth.static_tokens import entries_of
from coatcheck.web.errors import InvalidSettings, IssuerUnavailable
from coatcheck.web.operations.check.flower import FlowerSettings
from coatcheck.web.protocol.wording import counted
from coatcheck.web.settings.auth import LOOPBACK_HOSTS, AuthSettings
from coatcheck.web.settings.web import Settings
from coatcheck.workers.messages.dispatcher import Dispatcher
from coatcheck.workers.messages.other_application import Cluster
from coatcheck.workers.toolkit.catalogue import load_catalogue
from coatcheck.workers.toolkit.errors import (
    BrokerRefused,
    BrokerUnavailable,
    ResultsUnavailable,
    UnsafeResults,
    WorkersError,
)
from coatcheck.workers.toolkit.tool import Catalogue

MOST_SKEW_S: Final = 5.0
"""How far the clock of this machine may be from that of Redis: tokens are judged by the one, deadlines by the other."""

PUBLIC_SECONDS: Final = 5.0
"""How long the public address may take to answer."""


DISCOVER: Final = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "server/discover",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
}
"""What a client asks first."""

HEADERS: Final = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "server/discover",
}
"""The headers of that request."""


class Wrong(Exception):
    """A part does not work; `mend` says what to do about it."""

    def __init__(self, what: str, mend: str) -> None:
        super().__init__(what)
        self.mend = mend


class Doubtful(Wrong):
    """A part works, and its operator should know something about it."""


@dataclass(frozen=True)
class Deployment:
    """What the parts are tried with. Each connection is made by the first part that needs it."""

    settings: Settings
    flower: FlowerSettings
    catalogue: Catalogue

    @cached_property
    def store(self) -> TaskStore:
        """The way to Redis."""
        return TaskStore(self.settings.store, Patience.DOOR)

    @cached_property
    def dispatcher(self) -> Dispatcher:
        """The way to our workers."""
        return Dispatcher(self.settings.workers, self.settings.store, self.catalogue)

    @cached_property
    def cluster(self) -> Cluster:
        """The way to the workers of others."""
        return Cluster(self.settings.workers, self.settings.store)

    def close(self) -> None:
        """The connections that were made are closed."""
        for name in ("cluster", "dispatcher", "store"):
            if name in self.__dict__:
                getattr(self, name).close()


def store(deployment: Deployment) -> str:
    """Redis takes what a call writes, and would not lose it."""
    with _reaching_redis():
        deployment.store.probe()
    found = unfitness(deployment.settings.store)
    if found.faults:
        mend = "mend the server, or accept the risk with COATCHECK_UNFIT_STORE=warn"
        raise Wrong(" ".join(sorted(found.faults)), mend)
    if found.doubts:
        raise Doubtful(" ".join(sorted(found.doubts)), "docs/deploy.md says what a Redis has to do")
    return "takes what it is given, and keeps it over a restart"


def clock(deployment: Deployment) -> str:
    """This machine and Redis agree on the time."""
    before = time.time()
    with _reaching_redis():
        theirs = deployment.store.now_ms() / 1000
    ours = (before + time.time()) / 2
    if abs(ours - theirs) > MOST_SKEW_S:
        raise Wrong(f"this machine's clock is {ours - theirs:+.0f} s from that of Redis", "let NTP set both clocks")
    return "agrees with that of Redis"


def broker(deployment: Deployment) -> str:
    """Messages can be sent and taken, and workers hear of what is revoked."""
    try:
        deployment.dispatcher.probe()
        deployment.dispatcher.probe_control()
    except BrokerRefused as fault:
        raise Wrong(str(fault), "give its user the rights that docs/deploy.md lists") from fault
    except BrokerUnavailable as fault:
        raise _unreachable(
            fault, "CELERY_BROKER_URL must lead to a Redis or RabbitMQ that this process can reach"
        ) from fault
    return "takes messages and gives them back"


def results(deployment: Deployment) -> str:
    """The chord of a resume can count its parts."""
    try:
        deployment.dispatcher.check_results()
    except BrokerUnavailable as fault:
        raise _unreachable(
            fault, "CELERY_RESULT_BACKEND must lead to a result backend that this process can reach"
        ) from fault
    return "answers"


def worker(deployment: Deployment) -> str:
    """Somebody would do the work."""
    with _reaching_redis():
        alive = deployment.store.maintenance.workers_alive()
    if not alive:
        raise Wrong(
            "none that takes messages was seen lately",
            "read its log, or start one:\ncelery -A coatcheck.workers worker",
        )
    try:
        answered, unserved = deployment.dispatcher.unserved(alive)
    except BrokerUnavailable as fault:
        raise _unreachable(fault, "CELERY_BROKER_URL must lead to the broker of the workers") from fault
    if not unserved:
        return f"{alive} alive, taking messages of every tool"
    if answered < alive:  # one that is busy in the pool solo does not answer
        raise Doubtful(
            f"{alive} alive, of which {answered} answered over the broker",
            "compare CELERY_BROKER_URL, as each process sees it, and try again when they are idle",
        )
    mend = "restart the workers with these tools, and with --queues if they take from some queues only"
    raise Wrong("; ".join(unserved), mend)


def exposed(deployment: Deployment) -> str:
    """The application whose tasks are exposed can be sent to and looked at."""
    works = [tool.exposed for tool in deployment.catalogue if tool.exposed is not None]
    if not works:
        return "no Celery task of another application is exposed"
    try:
        alive = deployment.cluster.census(["none"]).workers
        deployment.cluster.state("none")
    except BrokerUnavailable as fault:
        raise _unreachable(fault, "COATCHECK_EXPOSE_BROKER_URL must lead to the broker of their workers") from fault
    except ResultsUnavailable as fault:
        raise _unreachable(
            fault, "COATCHECK_EXPOSE_RESULT_BACKEND must lead to where their workers leave results"
        ) from fault
    if not alive:
        raise Wrong("none of their workers answers", "start one, with remote control on, on the same broker")
    found = deployment.cluster.disagreements(works)
    if faults := [why for why, is_certain in found if is_certain]:
        raise Wrong("; ".join(faults), "correct what is exposed, or how their workers are started; then try again")
    if found:
        raise Doubtful("; ".join(why for why, _ in found), "compare the two addresses, as each process sees them")
    known = f"{counted(len(works), 'task')}, known to those of {counted(alive, 'worker')} that listen"
    return f"{known}, with their results where they are read"


def public_address(deployment: Deployment) -> str:
    """Clients find the server where it says that it is."""
    url = deployment.settings.web.public_url
    if not url:
        if deployment.settings.web.host in LOOPBACK_HOSTS:
            return "not set; only this machine can call"
        raise Wrong(
            "not set", "set COATCHECK_PUBLIC_URL to the address that clients use, such as https://mcp.example.com"
        )
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in LOOPBACK_HOSTS:
        raise Wrong(f"{url} is not https", "put TLS before it: tokens would be read on the way")
    mend = "its router must hand requests to the web process"
    asked = Request(deployment.settings.web.resource, json.dumps(DISCOVER).encode(), HEADERS)  # noqa: S310 - see above
    try:
        with urlopen(asked, timeout=PUBLIC_SECONDS) as response:  # noqa: S310 - the same
            is_ours = "supportedVersions" in json.loads(response.read())["result"]
    except HTTPError as refusal:
        with refusal:
            is_ours = refusal.code == 401 and refusal.headers.get("WWW-Authenticate", "").startswith("Bearer")
        if not is_ours:
            raise Wrong(f"{asked.full_url} refuses what clients ask: {refusal}", mend) from refusal
    except OSError as fault:
        raise Wrong(f"{url} does not answer: {fault}", mend) from fault
    except (ValueError, LookupError, TypeError, HTTPException):
        is_ours = False
    if not is_ours:
        raise Wrong(f"something else than this server answers at {asked.full_url}", mend)
    return f"{url} answers"


def auth(deployment: Deployment) -> str:
    """Not everybody may call, unless only this machine can."""
    settings = deployment.settings.auth
    mode = settings.mode
    try:
        if mode == "tokens":
            return f"callers prove who they are by one of {_tokens(settings)}"
        if mode == "oauth":
            Keys(settings, wait_s=LIMIT_S + 1).get("none has this id")
            return f"callers prove who they are by a token of {settings.issuer}, whose keys can be had"
    except InvalidSettings as fault:
        raise Wrong(str(fault), "correct the entries; `coatcheck token new` makes them") from fault
    except IssuerUnavailable as fault:
        mend = "COATCHECK_OAUTH_ISSUER or COATCHECK_OAUTH_JWKS_URL must lead to its keys"
        if "certificate" in str(fault).lower():
            mend = "name the file of its authority in SSL_CERT_FILE, for the web processes too"
        raise Wrong(f"{settings.issuer}: {fault}", mend) from fault
    if deployment.settings.auth.allow_anonymous:
        raise Wrong(
            "whoever can reach this server may call every tool and see all tasks",
            "set COATCHECK_AUTH=tokens or oauth, unless something else guards the door",
        )
    return "off, on a loopback address"


def _tokens(settings: AuthSettings) -> str:
    """Return how many tokens there are. Raises InvalidSettings when they cannot be read."""
    entries = entries_of(settings)
    if not entries:
        raise InvalidSettings("there is not one token, so nobody can call")
    count = sum(expires_s is None or expires_s > time.time() for expires_s in (one.caller.expires_s for one in entries))
    if not count:
        raise InvalidSettings("every token has expired, so nobody can call")
    return f"{count} token{'s' if count > 1 else ''}"


def flower(deployment: Deployment) -> str:
    """Flower would start, and not be open to everybody."""
    if deployment.flower.faults:
        raise Wrong(deployment.flower.faults, "correct these variables of Flower's")
    if deployment.flower.is_guarded:
        return "asks for a login"
    if deployment.flower.address in LOOPBACK_HOSTS:
        return "listens to this machine only"
    raise Wrong(
        f"would listen on {deployment.flower.address or 'every address'} without a login",
        "set FLOWER_BASIC_AUTH=user:password, or FLOWER_AUTH with FLOWER_AUTH_PROVIDER",
    )


@contextmanager
def _reaching_redis() -> Iterator[None]:
    try:
        yield
    except StoreForbidden as fault:
        raise Wrong(str(fault), "give the user of REDIS_URL the rights that docs/deploy.md lists") from fault
    except StoreRefused as fault:
        raise Wrong(f"takes no writes: {fault}", "it must not be full, nor a replica") from fault
    except StoreError as fault:
        raise _unreachable(
            fault, "REDIS_URL must lead to a Redis 6.2 or newer, or a Valkey, that this process can reach"
        ) from fault


def _unreachable(fault: Exception, mend: str) -> Wrong:
    """A server that does not answer, or one that is there and cannot prove who it is."""
    if "certificate" in str(fault).lower():
        mend = "name the authority in COATCHECK_REDIS_CA_FILE, or set COATCHECK_REDIS_TLS_VERIFY=false"
    return Wrong(str(fault), mend)


PARTS: Final[Mapping[str, Callable[[Deployment], str]]] = {
    "store": store,
    "clock": clock,
    "broker": broker,
    "results": results,
    "worker": worker,
    "exposed": exposed,
    "public address": public_address,
    "auth": auth,
    "flower": flower,
}
"""Every part by its name, those that others stand on first."""

RUNNING: Final = frozenset({"worker", "exposed", "public address"})
"""The parts that are there once the deployment runs, and not yet when it is released."""


def catalogue_of(settings: Settings) -> Catalogue:
    """The tools that these settings name.

    Raises:
        Wrong: one cannot be offered as it is.
    """
    try:
        return load_catalogue(settings.workers)
    except UnsafeResults as fault:
        raise Wrong(str(fault), "name a Redis in COATCHECK_EXPOSE_RESULT_BACKEND") from fault
    except WorkersError as fault:
        raise Wrong(str(fault), "correct the tool, or what COATCHECK_TOOLS and COATCHECK_EXPOSE name") from fault
