"""The parts of a deployment, and the check of each."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from http.client import HTTPException, HTTPResponse
from typing import Final
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from coatcheck.tasks_store import Patience, StoreError, StoreForbidden, StoreMisaddressed, StoreRefused, TaskStore
from coatcheck.tasks_store.server_checks import unfitness
from coatcheck.web.auth.http_fetch import LOOKUP_LIMIT_S
from coatcheck.web.auth.issuer_keys import IssuerKeys
from coatcheck.web.auth.static_tokens import entries_of
from coatcheck.web.errors import InvalidWebSettings, IssuerUnavailable
from coatcheck.web.operations.check.flower import FlowerSettings
from coatcheck.web.protocol.wording import counted
from coatcheck.web.settings.auth import LOOPBACK_HOSTS, AuthSettings
from coatcheck.web.settings.web import ServerSettings
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

MAX_CLOCK_SKEW_S: Final = 5.0
"""Seconds between this machine's clock and that of Redis: one decides about tokens, the other about deadlines."""

PUBLIC_ADDRESS_LIMIT_S: Final = 5.0
"""Seconds for the public address to respond."""

PUBLIC_BYTES: Final = 1024 * 1024
"""No honest answer of it is larger."""


DISCOVER_REQUEST: Final = {
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
"""A client's first request."""

DISCOVER_HEADERS: Final = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "server/discover",
}
"""The headers of that request."""


class CheckFailed(Exception):
    """A part is faulty; `remedy` says what to do."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.remedy = remedy


class CheckWarning(CheckFailed):
    """A part works, and the operator should know something about it."""


@dataclass(frozen=True)
class Deployment:
    """The settings and connections of the check. Each connection is made by the first part that needs it."""

    settings: ServerSettings
    flower: FlowerSettings
    catalogue: Catalogue

    @cached_property
    def store(self) -> TaskStore:
        """The task store."""
        return TaskStore(self.settings.store, Patience.DOOR)

    @cached_property
    def dispatcher(self) -> Dispatcher:
        """The dispatcher to our workers."""
        return Dispatcher(self.settings.workers, self.settings.store, self.catalogue)

    @cached_property
    def cluster(self) -> Cluster:
        """The other application's workers."""
        return Cluster(self.settings.workers, self.settings.store)

    def close(self) -> None:
        """Close the connections that were made."""
        for name in ("cluster", "dispatcher", "store"):
            if name in self.__dict__:
                getattr(self, name).close()


def store(deployment: Deployment) -> str:
    """Check that Redis accepts writes and is configured not to lose them."""
    with _reaching_redis():
        deployment.store.probe()
    found = unfitness(deployment.settings.store)
    if found.faults:
        remedy = "mend the server, or accept the risk with COATCHECK_UNFIT_STORE=warn"
        raise CheckFailed(" ".join(sorted(found.faults)), remedy)
    if found.doubts:
        raise CheckWarning(" ".join(sorted(found.doubts)), "docs/deploy.md says what a Redis has to do")
    return "takes what it is given, and keeps it over a restart"


def clock(deployment: Deployment) -> str:
    """Check that the clocks of this machine and Redis agree."""
    before = time.time()
    with _reaching_redis():
        theirs = deployment.store.now_ms() / 1000
    ours = (before + time.time()) / 2
    if abs(ours - theirs) > MAX_CLOCK_SKEW_S:
        raise CheckFailed(
            f"this machine's clock is {ours - theirs:+.0f} s from that of Redis", "let NTP set both clocks"
        )
    return "agrees with that of Redis"


def broker(deployment: Deployment) -> str:
    """Check that messages can be sent and received, and that workers can be told of revoked ones."""
    try:
        deployment.dispatcher.probe()
        deployment.dispatcher.probe_control()
    except BrokerRefused as fault:
        raise CheckFailed(str(fault), "give its user the rights that docs/deploy.md lists") from fault
    except BrokerUnavailable as fault:
        raise _unreachable(
            fault, "CELERY_BROKER_URL must lead to a Redis or RabbitMQ that this process can reach"
        ) from fault
    return "takes messages and gives them back"


def results(deployment: Deployment) -> str:
    """Check that the result backend can count the parts of a resume's chord."""
    try:
        deployment.dispatcher.check_results()
    except BrokerUnavailable as fault:
        raise _unreachable(
            fault, "CELERY_RESULT_BACKEND must lead to a result backend that this process can reach"
        ) from fault
    return "answers"


def worker(deployment: Deployment) -> str:
    """Check that live workers take messages of every tool."""
    with _reaching_redis():
        alive = deployment.store.maintenance.workers_alive()
    if not alive:
        raise CheckFailed(
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
        raise CheckWarning(
            f"{alive} alive, of which {answered} answered over the broker",
            "compare CELERY_BROKER_URL, as each process sees it, and try again when they are idle",
        )
    remedy = "restart the workers with these tools, and with --queues if they take from some queues only"
    raise CheckFailed("; ".join(unserved), remedy)


def exposed(deployment: Deployment) -> str:
    """Check the connection to the application whose Celery tasks are exposed, and that its workers know them."""
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
        raise CheckFailed("none of their workers answers", "start one, with remote control on, on the same broker")
    found = deployment.cluster.disagreements(works)
    if faults := [why for why, is_certain in found if is_certain]:
        raise CheckFailed(
            "; ".join(faults), "correct what is exposed, or how their workers are started; then try again"
        )
    if found:
        raise CheckWarning("; ".join(why for why, _ in found), "compare the two addresses, as each process sees them")
    known = f"{counted(len(works), 'task')}, known to those of {counted(alive, 'worker')} that listen"
    return f"{known}, with their results where they are read"


def public_address(deployment: Deployment) -> str:
    """Check that this server responds at its public address."""
    url = deployment.settings.web.public_url
    if not url:
        if deployment.settings.web.host in LOOPBACK_HOSTS:
            return "not set; only this machine can call"
        raise CheckFailed(
            "not set", "set COATCHECK_PUBLIC_URL to the address that clients use, such as https://mcp.example.com"
        )
    parts = urlsplit(url)
    if parts.scheme != "https" and parts.hostname not in LOOPBACK_HOSTS:
        raise CheckFailed(f"{url} is not https", "put TLS before it: tokens would be read on the way")
    remedy = "its router must hand requests to the web process"
    asked = Request(deployment.settings.web.resource, json.dumps(DISCOVER_REQUEST).encode(), DISCOVER_HEADERS)  # noqa: S310 - see above
    try:
        with urlopen(asked, timeout=PUBLIC_ADDRESS_LIMIT_S) as response:  # noqa: S310 - the same
            is_ours = "supportedVersions" in json.loads(_whole(response))["result"]
    except HTTPError as refusal:
        with refusal:
            is_ours = refusal.code == 401 and refusal.headers.get("WWW-Authenticate", "").startswith("Bearer")
        if not is_ours:
            raise CheckFailed(f"{asked.full_url} refuses what clients ask: {refusal}", remedy) from refusal
    except OSError as fault:
        raise CheckFailed(f"{url} does not answer: {fault}", remedy) from fault
    except (ValueError, LookupError, TypeError, HTTPException):
        is_ours = False
    if not is_ours:
        raise CheckFailed(f"something else than this server answers at {asked.full_url}", remedy)
    return f"{url} answers"


def _whole(response: HTTPResponse) -> bytes:
    """Return the body. Raises ValueError for one that does not end: a stream, of another kind of server."""
    deadline = time.monotonic() + PUBLIC_ADDRESS_LIMIT_S
    body = b""
    while piece := response.read1(PUBLIC_BYTES):
        body += piece
        if len(body) > PUBLIC_BYTES or time.monotonic() > deadline:
            raise ValueError("the answer does not end")
    return body


def auth(deployment: Deployment) -> str:
    """Check that callers authenticate, unless only this machine can connect."""
    settings = deployment.settings.auth
    mode = settings.mode
    try:
        if mode == "tokens":
            return f"callers prove who they are by one of {_tokens(settings)}"
        if mode == "oauth":
            IssuerKeys(settings, wait_s=LOOKUP_LIMIT_S + 1).get("none has this id")
            return f"callers prove who they are by a token of {settings.issuer}, whose keys can be had"
    except InvalidWebSettings as fault:
        raise CheckFailed(str(fault), "correct the entries; `coatcheck token new` makes them") from fault
    except IssuerUnavailable as fault:
        remedy = "COATCHECK_OAUTH_ISSUER or COATCHECK_OAUTH_JWKS_URL must lead to its keys"
        if "certificate" in str(fault).lower():
            remedy = "name the file of its authority in SSL_CERT_FILE, for the web processes too"
        raise CheckFailed(f"{settings.issuer}: {fault}", remedy) from fault
    if deployment.settings.auth.allow_anonymous:
        raise CheckFailed(
            "whoever can reach this server may call every tool and see all tasks",
            "set COATCHECK_AUTH=tokens or oauth, unless something else guards the door",
        )
    return "off, on a loopback address"


def _tokens(settings: AuthSettings) -> str:
    """Return the number of valid tokens. Raises InvalidWebSettings when they cannot be read."""
    entries = entries_of(settings)
    if not entries:
        raise InvalidWebSettings("there is not one token, so nobody can call")
    count = sum(expires_s is None or expires_s > time.time() for expires_s in (one.caller.expires_s for one in entries))
    if not count:
        raise InvalidWebSettings("every token has expired, so nobody can call")
    return f"{count} token{'s' if count > 1 else ''}"


def flower(deployment: Deployment) -> str:
    """Check that Flower can start and is not open to everybody."""
    if deployment.flower.faults:
        raise CheckFailed(deployment.flower.faults, "correct these variables of Flower's")
    if deployment.flower.is_guarded:
        return "asks for a login"
    if deployment.flower.address in LOOPBACK_HOSTS:
        return "listens to this machine only"
    raise CheckFailed(
        f"would listen on {deployment.flower.address or 'every address'} without a login",
        "set FLOWER_BASIC_AUTH=user:password, or FLOWER_AUTH with FLOWER_AUTH_PROVIDER",
    )


@contextmanager
def _reaching_redis() -> Iterator[None]:
    try:
        yield
    except StoreForbidden as fault:
        raise CheckFailed(str(fault), "give the user of REDIS_URL the rights that docs/deploy.md lists") from fault
    except StoreMisaddressed as fault:
        raise CheckFailed(str(fault), "correct the address") from fault
    except StoreRefused as fault:
        raise CheckFailed(f"takes no writes: {fault}", "it must not be full, nor a replica") from fault
    except StoreError as fault:
        raise _unreachable(
            fault, "REDIS_URL must lead to a Redis 6.2 or newer, or a Valkey, that this process can reach"
        ) from fault


def _unreachable(fault: Exception, remedy: str) -> CheckFailed:
    """Return the failure for a server that does not respond, or whose certificate is not trusted."""
    if "certificate" in str(fault).lower():
        remedy = "name the authority in COATCHECK_REDIS_CA_FILE, or set COATCHECK_REDIS_TLS_VERIFY=false"
    return CheckFailed(str(fault), remedy)


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
"""Every part by name, in the order of their dependencies."""

RUNNING: Final = frozenset({"worker", "exposed", "public address"})
"""The parts that exist only in a running deployment."""


def catalogue_of(settings: ServerSettings) -> Catalogue:
    """Load the tools that the settings name.

    Raises:
        CheckFailed: a tool is invalid.
    """
    try:
        return load_catalogue(settings.workers)
    except UnsafeResults as fault:
        raise CheckFailed(str(fault), "name a Redis in COATCHECK_EXPOSE_RESULT_BACKEND") from fault
    except WorkersError as fault:
        raise CheckFailed(str(fault), "correct the tool, or what COATCHECK_TOOLS and COATCHECK_EXPOSE name") from fault
