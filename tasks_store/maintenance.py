"""What keeps the records in order as time passes: expiry, lost runs, late messages, and which workers live."""

from coatcheck.tasks_store import keys
from coatcheck.tasks_store.decoding import next_run_of
from coatcheck.tasks_store.keys import TaskKeys
from coatcheck.tasks_store.model import INTERNAL_ERROR, DueKind, NextRun, Owner, Remains
from coatcheck.tasks_store.scripts import script
from coatcheck.tasks_store.sender import Sender
from coatcheck.tasks_store.settings import StoreSettings

RESEND_MOST_MS = 600_000
"""The longest pause between two sendings of one queued task's message."""

WORKER_SEEN_MS = 15_000
"""How recently a worker must have been seen to count as alive."""

RETURN_MS = 5_000
"""How long a living run may take to renew its lease after an outage: the timeouts and pauses of a worker's client."""

LAPSED = "Going on without the input, whose time limit passed"


class Maintenance:
    """The sweeper's and the workers' side of the store. Methods raise `StoreUnavailable` as those of the task store do.

    Every method is one atomic script that is safe to send twice.
    """

    def __init__(self, sender: Sender, settings: StoreSettings) -> None:
        self._sender = sender
        self._settings = settings

    def abandon(self, task_id: str, process: str) -> None:
        """End the lease of a run whose process is known to be gone, so that `recover` can judge it at once.

        A run of another process is left alone.
        """
        k = TaskKeys.of(task_id)
        self._sender.send(script("abandon"), {"task": k.task, "due": k.due}, id=task_id, process=process)

    def abort(self, task_id: str, process: str, message: str) -> None:
        """Fail a task whose run was killed for a reason that another run would meet again.

        A run of another process is left alone.
        """
        self._sender.send(
            script("abort"),
            TaskKeys.of(task_id).of_record,
            id=task_id,
            process=process,
            keep=self._settings.keep_ms,
            code=INTERNAL_ERROR,
            message=message,
        )

    def due(self, bucket: int, limit: int, start: int = 0) -> list[str]:
        """Return ids of this bucket that the clock calls for, the longest due first, from the place `start` on."""
        reply = self._sender.send(script("due"), {"due": keys.due_key(bucket)}, start=start, limit=limit)
        return [task_id.decode() for task_id in reply]

    def inspect(self, task_id: str) -> tuple[DueKind, Remains | None]:
        """Return which transition the clock calls for; with PURGE, what that takes."""
        k = TaskKeys.of(task_id)
        code, *rest = self._sender.send(script("inspect"), {"task": k.task, "due": k.due}, id=task_id)
        if not rest:
            return DueKind(code.decode().lower()), None
        owner, call = rest
        return DueKind.PURGE, Remains(Owner.from_key(owner.decode()), call.decode())

    def expire(self, task_id: str) -> None:
        """Fail a task that outlived its time to live."""
        self._sender.send(
            script("expire"),
            TaskKeys.of(task_id).of_record,
            id=task_id,
            keep=self._settings.keep_ms,
            code=INTERNAL_ERROR,
        )

    def recover(self, task_id: str, *, held: bool) -> NextRun | None:
        """Supersede a run that will not come back, and return the next run, when one is due.

        `held` holds back the judgement on dead leases, which an outage of the store can have caused.
        """
        _, *following = self._sender.send(
            script("recover"),
            TaskKeys.of(task_id).of_record,
            id=task_id,
            held=int(held),
            resend=self._settings.resend_ms,
            keep=self._settings.keep_ms,
            code=INTERNAL_ERROR,
        )
        return next_run_of(task_id, following)

    def resend(self, task_id: str) -> NextRun | None:
        """Note that the message of a queued task is sent once more, and return the run it starts, when that is due."""
        k = TaskKeys.of(task_id)
        _, *following = self._sender.send(
            script("resend"),
            {"task": k.task, "due": k.due},
            id=task_id,
            resend=self._settings.resend_ms,
            most=RESEND_MOST_MS,
        )
        return next_run_of(task_id, following)

    def lapse(self, task_id: str) -> NextRun | None:
        """Close inputs past their time limit, and return the next run, when one is due."""
        k = TaskKeys.of(task_id)
        _, *following = self._sender.send(
            script("lapse"),
            {"task": k.task, "inputs": k.inputs, "due": k.due},
            id=task_id,
            resend=self._settings.resend_ms,
            message=LAPSED,
        )
        return next_run_of(task_id, following)

    def purge(self, task_id: str, remains: Remains) -> None:
        """Delete everything of an ended task that has expired."""
        self._sender.send(
            script("purge"),
            {
                **TaskKeys.of(task_id).of_record,
                "call": keys.call_key(task_id, remains.call),
                **keys.listed_keys(task_id[0], remains.owner),
            },
            id=task_id,
            listed=keys.listed_as(task_id),
        )

    def beat(self, worker: str, *, takes_messages: bool = True) -> bool:
        """Note that the worker lives; return True while dead leases must not be judged, because the store was away."""
        names = [worker, f"{keys.IDLE}{worker}"]
        reply = self._sender.send(
            script("beat"),
            {"workers": keys.WORKERS, "hold": keys.HOLD},
            worker=names[not takes_messages],
            otherwise=names[takes_messages],
            gap=self._settings.outage_ms,
            hold_ms=RETURN_MS,
        )
        return bool(reply[1])

    def lead(self, worker: str) -> bool:
        """Return whether this worker is the one that sweeps, until a little after its next sweep would be due."""
        reply = self._sender.send(
            script("lead"),
            {"sweeper": keys.SWEEPER},
            worker=worker,
            lease_ms=self._settings.sweep_ms + 1_000,
        )
        return bool(reply[0] == b"LEADING")

    def workers_alive(self) -> int:
        """Return how many workers were seen lately and take messages."""
        reply = self._sender.send(script("alive"), {"workers": keys.WORKERS}, within=WORKER_SEEN_MS, idle=keys.IDLE)
        return int(reply[1])
