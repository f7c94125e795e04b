"""Settings of the web process."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Self

from environs import Env, EnvValidationError
from marshmallow import ValidationError
from marshmallow.validate import Range

from coatcheck.settings_file import InvalidSettingsFile, add_settings_of_file
from coatcheck.tasks_store import StoreSettings, fault_lines, milliseconds
from coatcheck.web.errors import InvalidWebSettings
from coatcheck.web.settings.auth import LOOPBACK_HOSTS, AuthSettings, is_address
from coatcheck.web.settings.limits import LimitSettings
from coatcheck.workers.settings import WorkerSettings

MIN_SECRET_LENGTH = 32
"""Characters; a shorter secret can be guessed from what it encrypts."""

URI = re.compile(r"[!#-;=?-\[\]_a-z~]*")
"""The characters of an address, which challenges and metadata repeat. Source: RFC 3986, section 2."""

TASK_TOOLS = ("list_tasks", "task_status", "task_answer")
"""The tools that `COATCHECK_COMPANIONS` can name."""


@dataclass(frozen=True)
class WebSettings:
    """Addresses, limits and timeouts of the web server. Read once, at the entry point."""

    host: str = "127.0.0.1"
    """`COATCHECK_HOST`: the address to listen on; `0.0.0.0` on a platform or in a container."""
    port: int = 8000
    """`PORT`: the port of the MCP endpoint."""
    flower_port: str = "5555"
    """`FLOWER_PORT`: the port of Flower."""
    processes: int = 2
    """`WEB_CONCURRENCY`: web processes."""
    connections: int = 10_000
    """`COATCHECK_CONNECTIONS`: clients' connections to one web process; each is a file."""
    streams: int = 4_000
    """`COATCHECK_STREAMS`: open streams in one web process."""
    streams_per_owner: int = 400
    """`COATCHECK_STREAMS_PER_OWNER`: open streams of one owner in one web process, with authentication."""
    waiting: int = 4_000
    """`COATCHECK_WAITING_CALLS`: calls that wait for their jobs in one web process."""
    waiting_per_owner: int = 400
    """`COATCHECK_WAITING_CALLS_PER_OWNER`: waiting calls of one owner in one web process, with authentication."""
    public_url: str = ""
    """`COATCHECK_PUBLIC_URL`: the address of this server for clients, such as `https://mcp.example.com`."""
    allowed_hosts: tuple[str, ...] = ()
    """`COATCHECK_ALLOWED_HOSTS`: further values of `Host`, comma-separated; a name without a port allows every port."""
    allowed_origins: tuple[str, ...] = ()
    """`COATCHECK_ALLOWED_ORIGINS`: web pages that may call this server from a browser, comma-separated."""
    secret_key: str = field(default="", repr=False)
    """`COATCHECK_SECRET_KEY`: encrypts `requestState`; 32 characters at least; by default a secret in the store that
    all processes share."""
    max_body_bytes: int = 1024 * 1024
    """`COATCHECK_MAX_BODY_BYTES`: the largest request."""
    max_header_bytes: int = 16 * 1024
    """`COATCHECK_MAX_HEADER_BYTES`: the largest header field with its name, such as a token; from 1024 to 65536."""
    body_ms: int = 20_000
    """`COATCHECK_BODY_SECONDS`: the time limit for a request to arrive."""
    answer_ms: int = 30_000
    """`COATCHECK_ANSWER_SECONDS`: the time limit for a client to read a response, or one message of a stream."""
    sync_ms: int = 25_000
    """`COATCHECK_SYNC_SECONDS`: how long a synchronous call waits for its job; most routers cut at 30 seconds."""
    grace_ms: int = 0
    """`COATCHECK_GRACE_SECONDS`: how long a call that can become a task waits for its result before the task is
    returned."""
    legacy: bool = True
    """`COATCHECK_LEGACY`: `on` or `off`: whether clients of 2025-11-25, 2025-06-18 and 2025-03-26 are served too."""
    legacy_ms: int = 55_000
    """`COATCHECK_LEGACY_SECONDS`: how long a call of a legacy client waits for its job, if its response can be
    streamed; most of them time out after 60 seconds."""
    require_task_name: bool = False
    """`COATCHECK_REQUIRE_TASK_NAME`: refuse `tasks/get`, `tasks/update` and `tasks/cancel` without the header
    `Mcp-Name`, for a router that relies on it; official clients do not send it."""
    state_ms: int = 3_600_000
    """`COATCHECK_STATE_SECONDS`: how long the `requestState` of a synchronous call is valid."""
    companions: tuple[str, ...] = ()
    """`COATCHECK_COMPANIONS`: tools about tasks that the web server offers, comma-separated: `list_tasks`,
    `task_status`, `task_answer`."""
    page_size: int = 100
    """`COATCHECK_PAGE_SIZE`: tools on one page of `tools/list`."""
    metrics_token: str = field(default="", repr=False)
    """`COATCHECK_METRICS_TOKEN`: the bearer token of Prometheus for `/metrics`, 32 characters at least; without it, the
    page is served on loopback addresses only."""
    instructions: str = ""
    """`COATCHECK_INSTRUCTIONS`: instructions for models about this server."""

    @classmethod
    def read(cls, env: Env, auth: AuthSettings) -> Self:
        """Read the settings; `env` keeps the faults and reports them when it is sealed."""
        # Without a default a variable must be set: tokens are issued for an address, and this server must know its own.
        public = {} if auth.mode == "oauth" else {"default": cls.public_url}
        return cls(
            host=env.str("COATCHECK_HOST", cls.host, validate=_reachable_only_if(auth.is_closed_to_strangers)),
            port=env.int("PORT", cls.port, validate=Range(1, 65_535, error="must be from 1 to 65535")),
            flower_port=env.str("FLOWER_PORT", cls.flower_port),
            processes=env.int("WEB_CONCURRENCY", cls.processes, validate=_AT_LEAST_1),
            connections=env.int("COATCHECK_CONNECTIONS", cls.connections, validate=_AT_LEAST_1),
            streams=env.int("COATCHECK_STREAMS", cls.streams, validate=_AT_LEAST_1),
            streams_per_owner=env.int("COATCHECK_STREAMS_PER_OWNER", cls.streams_per_owner, validate=_AT_LEAST_1),
            waiting=env.int("COATCHECK_WAITING_CALLS", cls.waiting, validate=_AT_LEAST_1),
            waiting_per_owner=env.int("COATCHECK_WAITING_CALLS_PER_OWNER", cls.waiting_per_owner, validate=_AT_LEAST_1),
            public_url=env.str("COATCHECK_PUBLIC_URL", validate=_check_public_url, **public),
            allowed_hosts=_list(env, "COATCHECK_ALLOWED_HOSTS"),
            allowed_origins=_list(env, "COATCHECK_ALLOWED_ORIGINS"),
            secret_key=env.str("COATCHECK_SECRET_KEY", cls.secret_key, validate=_check_secret),
            max_body_bytes=env.int("COATCHECK_MAX_BODY_BYTES", cls.max_body_bytes, validate=_AT_LEAST_1),
            max_header_bytes=env.int("COATCHECK_MAX_HEADER_BYTES", cls.max_header_bytes, validate=_HEADER_BYTES),
            body_ms=milliseconds(env, "COATCHECK_BODY_SECONDS", cls.body_ms, least=0.1),
            answer_ms=milliseconds(env, "COATCHECK_ANSWER_SECONDS", cls.answer_ms, least=0.1),
            sync_ms=milliseconds(env, "COATCHECK_SYNC_SECONDS", cls.sync_ms, least=0.1),
            grace_ms=milliseconds(env, "COATCHECK_GRACE_SECONDS", cls.grace_ms, least=0, most=60),
            legacy=env.bool("COATCHECK_LEGACY", cls.legacy),
            legacy_ms=milliseconds(env, "COATCHECK_LEGACY_SECONDS", cls.legacy_ms, least=0.1),
            require_task_name=env.bool("COATCHECK_REQUIRE_TASK_NAME", cls.require_task_name),
            state_ms=milliseconds(env, "COATCHECK_STATE_SECONDS", cls.state_ms, least=1),
            companions=_companions(env),
            page_size=env.int("COATCHECK_PAGE_SIZE", cls.page_size, validate=_AT_LEAST_1),
            metrics_token=env.str("COATCHECK_METRICS_TOKEN", cls.metrics_token, validate=_check_secret),
            instructions=env.str("COATCHECK_INSTRUCTIONS", cls.instructions, validate=_check_text),
        )

    @property
    def resource(self) -> str:
        """The canonical URI of the MCP endpoint, or an empty string. Source: basic/authorization, "Canonical Server
        URI"."""
        address = self.public_url.rstrip("/")
        return address if not address or address.endswith("/mcp") else f"{address}/mcp"


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """All settings of a web process."""

    store: StoreSettings
    workers: WorkerSettings
    web: WebSettings
    auth: AuthSettings = field(default_factory=AuthSettings)
    limits: LimitSettings = field(default_factory=LimitSettings)
    waiting_threads: int | None = None
    """How many threads of another server can be held by calls that wait and by streams; None where these hold none."""


def read_settings() -> ServerSettings:
    """Read all settings from the environment.

    Raises:
        InvalidSettings: with every fault of every folder, one a line, each led by its variable.
    """
    settings, fault = read_partial_settings()
    if fault is not None:
        raise fault
    return settings


def read_partial_settings() -> tuple[ServerSettings, InvalidWebSettings | None]:
    """Read all settings, and return the faults with them: a variable at fault leaves None, or a meaningless value."""
    faults: list[str] = []
    variables: frozenset[str] = frozenset()
    try:
        add_settings_of_file(os.environ)
    except InvalidSettingsFile as fault:
        faults.append(str(fault))
    env = Env(eager=False)
    store = StoreSettings.read(env)
    auth = AuthSettings.read(env)
    settings = ServerSettings(
        store, WorkerSettings.read(env, store), WebSettings.read(env, auth), auth, LimitSettings.read(env)
    )
    try:
        env.seal()
    except EnvValidationError as fault:
        faults.append(fault_lines(fault))
        variables = frozenset(fault.error_messages)
    if not faults:
        return settings, None
    invalid = InvalidWebSettings("\n".join(faults))
    invalid.variables = variables
    return settings, invalid


_AT_LEAST_1 = Range(min=1, error="must be at least 1")
_HEADER_BYTES = Range(1_024, 65_536, error="must be from 1024 to 65536")


def _list(env: Env, name: str) -> tuple[str, ...]:
    items: list[str] = env.list(name, []) or []
    return tuple(item.strip().lower().rstrip("/") for item in items if item.strip())


def _companions(env: Env) -> tuple[str, ...]:
    names: list[str] = env.list("COATCHECK_COMPANIONS", [], validate=_check_companions) or []
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))


def _check_companions(names: list[str]) -> None:
    if unknown := sorted({name.strip() for name in names} - {*TASK_TOOLS, ""}):
        raise ValidationError(f"may list {', '.join(TASK_TOOLS)}; there is no {', '.join(unknown)}")


def _reachable_only_if(is_allowed: bool) -> Callable[[str], None]:
    def check(host: str) -> None:
        if host not in LOOPBACK_HOSTS and not is_allowed:
            raise ValidationError(
                "is not a loopback address, and COATCHECK_AUTH=none lets everybody in; "
                "set COATCHECK_ALLOW_ANONYMOUS=true if something else guards the door"
            )

    return check


def _check_public_url(url: str) -> None:
    if url and not is_address(url):
        raise ValidationError("must be an http or https address, such as https://mcp.example.com")
    if not URI.fullmatch(url):
        raise ValidationError("holds a character that no address holds; write it as %XX, in a host name as xn--")


def _check_text(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValidationError("holds bytes that are not UTF-8 text") from None


def _check_secret(secret: str) -> None:
    _check_text(secret)
    if secret and len(secret) < MIN_SECRET_LENGTH:
        raise ValidationError(f"must have at least {MIN_SECRET_LENGTH} characters")
