"""The data model of the store: every key that exists, on one page.

A task's keys and its bucket's index share one hash tag, so that each script touches one slot.

| key | type | holds | lives |
| --- | --- | --- | --- |
| `coatcheck:{B}:task:ID` | hash | the record (fields below) | until purged, at most an hour past its expiry |
| `coatcheck:{B}:inputs:ID` | hash | the inputs (fields below) | as the record, gone when the task ends |
| `coatcheck:{B}:steps:ID` | hash | step key → result as JSON | as the record, gone when the task ends |
| `coatcheck:{B}:call:SHA` | string | task id and fingerprint of an idempotent call | as the record |
| `coatcheck:{B}:due` | sorted set | task id → when the clock next changes that task | an entry goes with its record |
| `coatcheck:{fleet}:workers` | sorted set | worker → when it was last seen | an entry goes after an hour |
| `coatcheck:{fleet}:sweeper` | string | the worker that sweeps | its lease |
| `coatcheck:{fleet}:hold` | string | set after an outage: leases may have died for no fault of their run | one lease |
| `coatcheck:secret` | string | the secret that seals `requestState`, unless one is configured | for ever |
| `coatcheck:feed` | channel | the id of each task that changed | |

Fields of the record: `owner tool arguments capabilities trace` (as created) · `status phase message created updated ttl
expires poll` · `run_id run_number lease max_runs lost` · `resend sends` (when the message is sent again) · `open round
parked_by limit` (inputs) · `cancel cancel_at` · `result error_code error_message error_data finished_by` · `call`.

Fields of the inputs, for each input key K: `request:K answer:K verdict:K why:K validator:K limit:K`.

`phase` is the store's own, finer status: `queued` (a message is due), `running` (a lease is held), `parked`, `done`.
"""

from dataclasses import dataclass

from tasks_store.model import BUCKETS, TASK_ID

PREFIX = "coatcheck"
"""Starts every key and channel of ours, so that a Redis can be shared."""

WORKERS = f"{PREFIX}:{{fleet}}:workers"
SWEEPER = f"{PREFIX}:{{fleet}}:sweeper"
HOLD = f"{PREFIX}:{{fleet}}:hold"
SECRET = f"{PREFIX}:secret"
FEED = f"{PREFIX}:feed"

NOBODY = "0" * 33
"""Stands in for a malformed id, so that looking it up costs what any look-up costs. No task has it."""


def due_key(bucket: int | str) -> str:
    """The index of one bucket."""
    return f"{PREFIX}:{{{bucket}}}:due"


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

    @classmethod
    def of(cls, task_id: str) -> "TaskKeys":
        """The keys of this id; a malformed id gets the keys of nobody's task."""
        if not TASK_ID.fullmatch(task_id):
            task_id = NOBODY
        start = f"{PREFIX}:{{{task_id[0]}}}"
        return cls(
            task_id, f"{start}:task:{task_id}", f"{start}:inputs:{task_id}", f"{start}:steps:{task_id}", f"{start}:due"
        )


def call_key(task_id: str, call: str) -> str:
    """Where an idempotent call is remembered, in its task's bucket; without a call the record itself stands in."""
    return f"{PREFIX}:{{{task_id[0]}}}:call:{call}" if call else TaskKeys.of(task_id).task
