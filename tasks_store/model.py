"""The shapes that cross the border of this folder. Times are whole milliseconds since 1970 on the clock of Redis."""

import hashlib
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

BUCKETS = 8
"""How many hash slots the tasks are spread over; the first digit of an id names its bucket."""

TASK_ID = re.compile(r"[0-7][0-9a-f]{32}", re.ASCII)
"""An id: its bucket, then 128 random bits in hexadecimal. Safe in an HTTP header."""

INTERNAL_ERROR = -32603
"""The JSON-RPC code of a task that failed for no fault of its caller. Source: JSON-RPC 2.0, "Error object"."""

INPUT_KEY = re.compile(r"[A-Za-z0-9_.\-#]{1,128}", re.ASCII)
"""An input key as it stands on the wire and in the store's space-separated lists."""


class Status(StrEnum):
    """The five statuses of the specification.

    Source: ext-tasks, tasks.md, "Task Status".
    """

    WORKING = "working"
    """Queued, running, or about to be resumed."""
    INPUT_REQUIRED = "input_required"
    """Parked until every outstanding input is answered."""
    COMPLETED = "completed"
    """Ended with a result, which may be an `isError` result."""
    FAILED = "failed"
    """Ended with a JSON-RPC error."""
    CANCELLED = "cancelled"
    """Ended because somebody asked for it."""

    @property
    def is_terminal(self) -> bool:
        """True for the three statuses that a task never leaves."""
        return self in (Status.COMPLETED, Status.FAILED, Status.CANCELLED)


class Verdict(StrEnum):
    """What became of an answer after it was stored."""

    UNCHECKED = ""
    """Nobody has run the author's validator yet."""
    ACCEPTED = "accepted"
    """The author's validator, if there is one, let it pass."""
    REJECTED = "rejected"
    """The author's validator refused it; the tool asks again under a new key."""
    LAPSED = "lapsed"
    """The input's own time limit passed without an answer."""


@lru_cache(maxsize=4096)
def _owner_key(tenant: str, principal: str) -> str:
    return json.dumps([tenant, principal], ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Owner:
    """Whom a task belongs to. Part of every look-up; two owners never see each other's tasks."""

    tenant: str
    principal: str

    @property
    def key(self) -> str:
        """The owner as one string that no other owner can produce."""
        return _owner_key(self.tenant, self.principal)

    @classmethod
    def from_key(cls, key: str) -> "Owner":
        """The owner whose `key` this is."""
        tenant, principal = json.loads(key)
        return cls(tenant, principal)

    @property
    def tag(self) -> str:
        """Twelve hexadecimal digits that stand for the owner where people may look on: logs, Flower."""
        return hashlib.sha256(self.key.encode()).hexdigest()[:12]


ANONYMOUS = Owner("", "anonymous")
"""The one owner of everything when authentication is off."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One input that a run asks for when it parks."""

    input_key: str
    request: bytes
    """The request as JSON, as it goes on the wire."""
    validator: str = ""
    """`module:qualname` of the author's validator, or nothing."""
    time_limit_ms: int = 0
    """How long the input stays open; 0 means as long as the task lives."""


@dataclass(frozen=True, slots=True)
class Given:
    """One input of a task with all that is known of it."""

    request: bytes
    answer: bytes | None = None
    verdict: Verdict = Verdict.UNCHECKED
    why: str = ""
    """What the author's validator said, when it refused the answer."""
    validator: str = ""


@dataclass(frozen=True, slots=True)
class NewTask:
    """What the front door knows of a task when it creates it."""

    owner: Owner
    tool: str
    arguments: bytes
    """The arguments as a JSON object."""
    capabilities: bytes = b"{}"
    """The client's declared capabilities, as a JSON object: what the job may ask for."""
    ttl_ms: int = 86_400_000
    poll_interval_ms: int = 1_000
    max_runs: int = 3
    """How many runs may be lost with their worker before the task is failed."""
    trace: bytes = b""
    """The W3C trace context as a JSON object, or nothing."""
    answers: Mapping[str, tuple[bytes, bytes]] = field(default_factory=dict)
    """Inputs answered before the task began: input key to (request, answer)."""
    idempotency_key: str = ""
    """The caller's own key for this call, or nothing."""

    @property
    def call(self) -> str:
        """What an idempotency key is kept under: the owner and the key, or nothing without a key."""
        if not self.idempotency_key:
            return ""
        return hashlib.sha256(f"{self.owner.key}\n{self.idempotency_key}".encode()).hexdigest()

    @property
    def fingerprint(self) -> str:
        """Equal for two calls of one tool with the same arguments, whatever the order of their members."""
        canonical = json.dumps(json.loads(self.arguments), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(f"{self.tool}\n{canonical}".encode()).hexdigest()


def new_task_id(call: str = "") -> str:
    """A fresh id; calls with the same idempotency key land in the same bucket, so that one script can compare them."""
    bucket = int(call[:8], 16) % BUCKETS if call else secrets.randbelow(BUCKETS)
    return f"{bucket}{secrets.token_hex(16)}"


def new_run_id(process: str) -> str:
    """A fresh id for a run in this process, by which a watcher over processes recognises it."""
    return f"{process}-{secrets.token_hex(8)}"


@dataclass(frozen=True, slots=True)
class TaskError:
    """The JSON-RPC error of a failed task."""

    code: int
    message: str
    data: bytes | None = None
    """JSON, as the tool's author gave it."""


@dataclass(frozen=True, slots=True)
class Task:
    """A task as its owner may see it."""

    task_id: str
    tool: str
    status: Status
    created_ms: int
    updated_ms: int
    ttl_ms: int
    poll_interval_ms: int
    message: str
    input_requests: Mapping[str, bytes] = field(default_factory=dict)
    """The outstanding inputs in the order they were asked, as JSON; only while input is required."""
    result: bytes | None = None
    """The result as JSON, exactly as the run left it; only when completed."""
    error: TaskError | None = None
    """Only when failed."""
    principal: str = ""
    """Whose it is; only in the list of a tenant, and empty for one who reads their own."""
    progress: bytes = b""
    """`{"progress": …, "total": …}` as JSON, as the work reported it last; only while it is worked on."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A lease, and all that the run needs to begin: one round trip."""

    task_id: str
    run_id: str
    run_number: int
    tool: str
    owner: Owner
    arguments: bytes
    capabilities: bytes
    trace: bytes
    created_ms: int
    expires_ms: int
    steps: Mapping[str, bytes]
    inputs: Mapping[str, Given]


class Refusal(StrEnum):
    """Why a message did not lead to a run. All of them are ordinary."""

    BUSY = "busy"
    """Another run holds the lease, or held it when it died: the sweeper decides about dead leases."""
    PARKED = "parked"
    """The task waits for inputs."""
    DELEGATED = "delegated"
    """The work is with somebody else's worker."""
    TERMINAL = "terminal"
    """The task has ended."""
    GONE = "gone"
    """The record was purged."""


class Outcome(StrEnum):
    """What a request to cancel did."""

    DONE = "done"
    """Nothing was running: the task is cancelled."""
    REQUESTED = "requested"
    """A run holds the lease and will hear of it."""
    TOO_LATE = "too_late"
    """The task had ended; nothing changed."""


@dataclass(frozen=True, slots=True)
class NextRun:
    """A run that is due: what its message needs."""

    task_id: str
    tool: str
    run_number: int
    owner_tag: str = field(default="", compare=False)
    """Stands for the owner where people look on; the run is the same without it."""

    @property
    def message_id(self) -> str:
        """The id of the message that starts this run. A second sending has the same, so that it can be revoked."""
        return f"{self.task_id}.{self.run_number}"


@dataclass(frozen=True, slots=True)
class Cancellation:
    """What a request to cancel did, and to which run."""

    outcome: Outcome
    run: NextRun | None = None
    """The run that must not begin (done) or has to end (requested)."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What an update did."""

    accepted: Sequence[str] = ()
    """Keys whose answer was stored by this update."""
    resumes: NextRun | None = None
    """The run that is now due, when this update answered the last outstanding input."""
    round: Sequence[str] = ()
    """All keys of the round that is now answered; only when it resumes."""


class DueKind(StrEnum):
    """Which transition the clock calls for."""

    EXPIRE = "expire"
    RECOVER = "recover"
    RESEND = "resend"
    LAPSE = "lapse"
    PURGE = "purge"
    NOTHING = "nothing"
    """Another process has seen to it in the meantime."""


@dataclass(frozen=True, slots=True)
class Remains:
    """What has to be known of an ended task to delete all that is left of it."""

    owner: Owner
    call: str = ""
    """The call that the task answers, as `NewTask.call`."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a watcher of a delegated task is told."""

    tool: str
    """Empty when the record is gone."""
    age_ms: int = 0
    """How long ago the work was delegated."""
    is_cancelled: bool = False
    """Somebody asked for the end of the task."""
    has_ended: bool = False
    """The task ended while its work went on: it was cancelled, or expired. Nobody looks again."""
    note: bytes = b""
    """What the last look left."""


@dataclass(frozen=True, slots=True)
class Event:
    """One message of the feed: a task changed, or a run reported progress."""

    task_id: str
    progress: bytes | None = None
    """`{"progress": …, "total": …, "message": …}` as JSON; None when the task's record changed."""
