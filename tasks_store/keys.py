"""The data model of the store: every key that exists, on one page.

A task's keys and its bucket's indexes share one hash tag, so that each script touches one slot. In the names of keys,
owners and tenants are digests.

| key | type | holds | lives |
| --- | --- | --- | --- |
| `coatcheck:{B}:task:ID` | hash | the record (fields below) | until purged, at most an hour past its expiry |
| `coatcheck:{B}:inputs:ID` | hash | the inputs (fields below) | as the record, gone when the task ends |
| `coatcheck:{B}:steps:ID` | hash | step key → result as JSON | as the record, gone when the task ends |
| `coatcheck:{B}:call:SHA` | string | task id and fingerprint of an idempotent call | as the record |
| `coatcheck:{B}:unshown:ID` | set | input keys that a client could not show | two minutes |
| `coatcheck:{B}:due` | sorted set | task id → when the clock next changes that task | an entry goes with its record |
| `coatcheck:{B}:watched` | sorted set | id of a delegated task → when to look at it next | as its last task |
| `coatcheck:{B}:owner:SHA` | sorted set | short id → when it was created: an owner's tasks | hours past its last task |
| `coatcheck:{B}:tenant:SHA` | sorted set | the same for all owners of a tenant | as that; entries go with records |
| `coatcheck:{fleet}:workers` | sorted set | worker, or `!worker` if idle → when it was last seen | an hour after that |
| `coatcheck:{B}:probe:KIND` | any | what shows whether the server takes writes | a moment |
| `coatcheck:{fleet}:sweeper` | string | the worker that sweeps | its lease |
| `coatcheck:{fleet}:hold` | string | set after an outage, in which leases may have died for nothing | five seconds |
| `coatcheck:{fleet}:counts` | hash | what workers counted: name → number | for ever |
| `coatcheck:{fleet}:counted:PROCESS` | string | how often a process has added to the counts | an hour after the last |
| `coatcheck:{fleet}:streams` | hash | web process → how many streams it holds | an hour after the last report |
| `coatcheck:{fleet}:streams:seen` | sorted set | web process → when it reported last | an hour after the last report |
| `coatcheck:confirmed` | string | nothing: written after what has to be on disk, and waited for | a minute |
| `coatcheck:secret` | string | the secret that seals `requestState`, unless one is configured | for ever |
| `coatcheck:{TENANT}:alive` | sorted set | task id → when it expires: a tenant's living tasks | as its last task |
| `coatcheck:{TENANT}:alive:PRINCIPAL` | sorted set | the same for one owner | as its last task |
| `coatcheck:rate:NAME` | hash | `full_at nonce`: a bucket that a rate is taken from | until it is full again |
| `coatcheck:feed` | channel | the id of each task that changed | |

Fields of the record: `owner tool arguments capabilities trace` (as created) · `status phase message created updated ttl
expires poll` · `run_id run_number lease max_runs lost` · `resend sends` (when the message is sent again) · `open round
parked_by limit` (inputs) · `cancel cancel_at` · `delegated
delegated_by note` · `result error_code error_message error_data finished_by` · `call`.

Fields of the inputs, for each input key K: `request:K answer:K verdict:K why:K validator:K limit:K`.

`phase` is the store's own, finer status: `queued` (a message is due), `running` (a lease is held), `parked`,
`delegated` (another Celery application works on it), `done`.
"""

from dataclasses import dataclass
from hashlib import sha256

from coatcheck.tasks_store.model import BUCKETS, TASK_ID, Owner

PREFIX = "coatcheck"
"""Starts every key and channel of ours, so that a Redis can be shared."""

WORKERS = f"{PREFIX}:{{fleet}}:workers"
SWEEPER = f"{PREFIX}:{{fleet}}:sweeper"
HOLD = f"{PREFIX}:{{fleet}}:hold"
COUNTS = f"{PREFIX}:{{fleet}}:counts"
STREAMS = f"{PREFIX}:{{fleet}}:streams"
STREAMS_SEEN = f"{STREAMS}:seen"
IDLE = "!"
"""Leads the name of a worker that lives and takes no messages."""
SECRET = f"{PREFIX}:secret"
CONFIRMED = f"{PREFIX}:confirmed"
FEED = f"{PREFIX}:feed"

NOBODY = "0" * 33
"""Stands in for a malformed id, so that looking it up costs what any look-up costs. No task has it."""


def due_key(bucket: int | str) -> str:
    """The index of one bucket."""
    return f"{PREFIX}:{{{bucket}}}:due"


def watched_key(bucket: int | str) -> str:
    """The delegated tasks of one bucket."""
    return f"{PREFIX}:{{{bucket}}}:watched"


DUE = tuple(due_key(bucket) for bucket in range(BUCKETS))
"""The indexes of all buckets."""


@dataclass(frozen=True, slots=True)
class TaskKeys:
    """The keys of one task, by the names the scripts use."""

    id: str
    """The id, or nobody's."""
    task: str
    inputs: str
    steps: str
    due: str
    watched: str

    @property
    def of_record(self) -> dict[str, str]:
        """The keys that a transition of the whole record touches."""
        return {"task": self.task, "inputs": self.inputs, "steps": self.steps, "due": self.due}

    @classmethod
    def of(cls, task_id: str) -> "TaskKeys":
        """The keys of this id; a malformed id gets the keys of nobody's task."""
        if not TASK_ID.fullmatch(task_id):
            task_id = NOBODY
        start = f"{PREFIX}:{{{task_id[0]}}}"
        return cls(
            id=task_id,
            task=f"{start}:task:{task_id}",
            inputs=f"{start}:inputs:{task_id}",
            steps=f"{start}:steps:{task_id}",
            due=f"{start}:due",
            watched=f"{start}:watched",
        )


def unshown_key(task_id: str) -> str:
    """Return where the inputs are noted that a client of the task said it cannot show."""
    known = TaskKeys.of(task_id).id
    return f"{PREFIX}:{{{known[0]}}}:unshown:{known}"


def call_key(task_id: str, call: str) -> str:
    """Where an idempotent call is remembered, in its task's bucket; without a call the record itself stands in."""
    return f"{PREFIX}:{{{task_id[0]}}}:call:{call}" if call else TaskKeys.of(task_id).task


def alive_keys(owner: Owner) -> dict[str, str]:
    """Where the living tasks of an owner, and of its tenant, are counted. Both are in one slot."""
    tenant = f"{PREFIX}:{{{_digest(owner.tenant)}}}:alive"
    return {"owner": f"{tenant}:{_digest(owner.principal)}", "tenant": tenant}


def listed_keys(bucket: int | str, owner: Owner) -> dict[str, str]:
    """Where the tasks of an owner, and of its tenant, are listed in one bucket."""
    start = f"{PREFIX}:{{{bucket}}}"
    return {"by_owner": f"{start}:owner:{_digest(owner.key)}", "by_tenant": f"{start}:tenant:{_digest(owner.tenant)}"}


def probe_keys(bucket: int) -> dict[str, str]:
    """Return the keys that are written and deleted to see whether the server takes writes."""
    return {kind: f"{PREFIX}:{{{bucket}}}:probe:{kind}" for kind in ("hash", "zset", "plain")}


def listed_as(task_id: str) -> bytes:
    """How a list names a task in its bucket: a third of the memory that the id would take."""
    return bytes.fromhex(task_id[1:])


def listed_id(bucket: int, entry: bytes) -> str:
    """The id of the task that a list names so."""
    return f"{bucket}{entry.hex()}"


def counted_key(process: str) -> str:
    """How often a process has added to the counts, in their slot."""
    return f"{PREFIX}:{{fleet}}:counted:{process}"


def bucket_key(name: str) -> str:
    """The bucket that a rate is taken from. Its name may be long, or somebody's."""
    return f"{PREFIX}:rate:{_digest(name)}"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:32]
