"""Tasks whose work is with somebody else's worker: who looks after them, and how they end."""

from collections.abc import Sequence

from coatcheck.tasks_store import keys
from coatcheck.tasks_store.errors import RunSuperseded
from coatcheck.tasks_store.keys import TaskKeys
from coatcheck.tasks_store.model import BUCKETS, Look, Status, TaskError
from coatcheck.tasks_store.scripts import script
from coatcheck.tasks_store.sender import Sender

FIRST_LOOK_MS = 100
"""How long after the delegation the first look is."""


class Delegations:
    """The delegated tasks of all owners. Methods raise `StoreUnavailable` as those of the task store do."""

    def __init__(self, sender: Sender, keep_ms: int) -> None:
        self._sender = sender
        self._keep_ms = keep_ms

    def delegate(self, task_id: str, run_id: str, message: str) -> bool:
        """The run is over and its work delegated. False when a cancel came first: the run has to end.

        Raises:
            RunSuperseded: another run holds the lease.
        """
        k = TaskKeys.of(task_id)
        (code,) = self._sender.send(
            script("delegate"),
            {"task": k.task, "due": k.due, "watched": k.watched},
            id=task_id,
            run_id=run_id,
            message=message,
            first=FIRST_LOOK_MS,
        )
        if code == b"SUPERSEDED":
            raise RunSuperseded(task_id, run_id)
        return bool(code == b"DELEGATED")

    def due(self, limit: int) -> Sequence[str]:
        """Ids of delegated tasks that somebody should look at now, at most so many of a bucket."""
        due: list[str] = []
        for bucket in range(BUCKETS):
            reply = self._sender.send(script("due"), {"due": keys.watched_key(bucket)}, start=0, limit=limit)
            due += [task_id.decode() for task_id in reply]
        return due

    def look(self, task_id: str, hold_ms: int) -> Look | None:
        """What the record says of the task, for the one watcher that looks now; None when another has looked."""
        k = TaskKeys.of(task_id)
        code, *rest = self._sender.send(
            script("look"), {"task": k.task, "watched": k.watched}, id=task_id, hold=hold_ms
        )
        if code == b"EARLY":
            return None
        if code == b"ENDED":
            return Look(rest[0].decode(), has_ended=True)
        tool, age, cancel, note = rest
        return Look(tool.decode(), int(age), cancel == b"1", note=note)

    def note(self, task_id: str, message: str, note: bytes, pause_ms: int, event: bytes = b"") -> None:
        """The next look is due after the pause, and finds this note; the task has this message.

        An `event` goes to the feed as progress.
        """
        k = TaskKeys.of(task_id)
        self._sender.send(
            script("note"),
            {"task": k.task, "watched": k.watched},
            id=task_id,
            pause=pause_ms,
            message=message,
            note=note,
            event=event,
        )

    def settle(
        self, task_id: str, status: Status, *, message: str = "", result: bytes = b"", error: TaskError | None = None
    ) -> Status | None:
        """The task has ended, with this status or, when a cancel came first, as cancelled; None when it had before."""
        k = TaskKeys.of(task_id)
        code, *rest = self._sender.send(
            script("settle"),
            {"task": k.task, "inputs": k.inputs, "steps": k.steps, "due": k.due, "watched": k.watched},
            id=task_id,
            keep=self._keep_ms,
            status=status.value,
            message=message,
            result=self._sender.vault.seal(task_id, "result", result),
            error_code=error.code if error else "",
            error_message=error.message if error else "",
        )
        return Status(rest[0].decode()) if code == b"SETTLED" else None
