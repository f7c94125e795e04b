"""The durable record of tasks: one method for each transition, each one atomic script that is safe to send twice."""

import secrets
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from coatcheck.tasks_store import keys
from coatcheck.tasks_store.connections import Patience
from coatcheck.tasks_store.decoding import claim_of, next_run_of, task_of, words_of
from coatcheck.tasks_store.errors import CallConflict, RunSuperseded, SealBroken, TaskNotFound
from coatcheck.tasks_store.external_tasks import Delegations
from coatcheck.tasks_store.keys import TaskKeys
from coatcheck.tasks_store.listing import Listing
from coatcheck.tasks_store.maintenance import Maintenance
from coatcheck.tasks_store.model import (
    BUCKETS,
    Answered,
    Asked,
    Cancellation,
    Claim,
    Given,
    NewTask,
    NextRun,
    Outcome,
    Owner,
    Refusal,
    Status,
    Task,
    TaskError,
    Verdict,
    new_task_id,
)
from coatcheck.tasks_store.quota import NO_LIMIT, Quota
from coatcheck.tasks_store.scripts import Argument, Script, script
from coatcheck.tasks_store.sender import Sender
from coatcheck.tasks_store.settings import StoreSettings
from coatcheck.tasks_store.statistics import Statistics

UNSHOWN_MS = 120_000
"""How long it is remembered that a client cannot show an input: longer than any call waits."""

QUEUED = "Waiting for a worker"
RUNNING = "Running"
PARKED = "Waiting for input"
RESUMED = "Input received"
CANCELLED = "Cancelled"
SEALED = "Waiting for a worker that has its encryption key"
RELEASED = "The worker shuts down; another one goes on"


LARGE_BYTES: Final = 256 * 1024
"""A result from which on only a few are read at a time, so that they leave connections to everybody else."""


class TaskStore:
    """All tasks of all owners, in Redis.

    Every method may raise `StoreUnavailable` (or `StoreRefused`): the transition may or may not have happened, and the
    same call can be made again.
    """

    def __init__(self, settings: StoreSettings, patience: Patience, sender: Sender | None = None) -> None:
        self.settings = settings
        self._sender = sender or Sender(settings, patience)
        self._vault = self._sender.vault
        self.quota = Quota(self._sender)
        self.delegations = Delegations(self._sender, settings.keep_ms)
        self.statistics = Statistics(self._sender)
        self.listing = Listing(self._sender)
        self.maintenance = Maintenance(self._sender, settings)

    # The owner's side.

    def create(self, new: NewTask, task_id: str | None = None) -> tuple[Task, bool]:
        """The task is durable, its message due; with an idempotency key, an equal earlier call's task is returned.

        The flag is True when this call made the task. `task_id` is given to send the same creation again.

        Raises:
            CallConflict: the idempotency key was used for another tool or other arguments.
        """
        task_id = task_id or new_task_id(new.call)
        k = TaskKeys.of(task_id)
        seal = partial(self._vault.seal, task_id)
        code, *rest = self._send(
            script("create"),
            {
                "task": k.task,
                "inputs": k.inputs,
                "due": k.due,
                "call": keys.call_key(task_id, new.call),
                **keys.listed_keys(task_id[0], new.owner),
            },
            id=task_id,
            listed=keys.listed_as(task_id),
            owner=new.owner.key,
            tool=new.tool,
            arguments=seal("arguments", new.arguments),
            capabilities=new.capabilities,
            trace=new.trace,
            ttl=new.ttl_ms,
            poll=new.poll_interval_ms,
            max_runs=new.max_runs,
            resend=self.settings.resend_ms,
            call_sha=new.call,
            fingerprint=new.fingerprint if new.call else "",
            message=QUEUED,
            answers=[
                part
                for key, (request, answer) in new.answers.items()
                for part in (key, seal(f"request:{key}", request), seal(f"answer:{key}", answer))
            ],
        )
        if code != b"CREATED":
            return self._earlier(new.owner, code, rest[0].decode()), False
        created = int(rest[0])
        return (
            Task(task_id, new.tool, Status.WORKING, created, created, new.ttl_ms, new.poll_interval_ms, QUEUED),
            True,
        )

    def repeated(self, new: NewTask) -> Task | None:
        """Return the task that an earlier sending of this call made, or None when there is none.

        Raises:
            CallConflict: the idempotency key was used for another tool or other arguments.
        """
        if not new.call:
            return None
        names = {"call": keys.call_key(new_task_id(new.call), new.call)}
        code, *rest = self._send(script("repeated"), names, fingerprint=new.fingerprint)
        return None if code == b"UNKNOWN" else self._earlier(new.owner, code, rest[0].decode())

    def get(self, owner: Owner, task_id: str) -> Task:
        """The task as it stands now, in one round trip, or in two where its result is large.

        Raises:
            TaskNotFound: this owner has no such task.
        """
        k = TaskKeys.of(task_id)
        named = {"task": k.task, "inputs": k.inputs}
        reply = self._send(script("get"), named, owner=owner.key, most=LARGE_BYTES)
        if reply[0] == b"LARGE":
            with self._sender.large():
                reply = self._send(script("get"), named, owner=owner.key, most=NO_LIMIT)
        if reply[0] == b"NOT_FOUND":
            raise TaskNotFound(task_id)
        return task_of(task_id, reply[1:], self._vault)

    def get_all(self, wanted: Sequence[tuple[Owner, str]], most: int) -> list[Task | None]:
        """Return each of these owners' tasks as it stands now, None where there is none.

        A completed task whose result has more bytes than `most` has none here. One round trip for each 500 tasks.
        """
        calls: list[tuple[Mapping[str, str], Mapping[str, Argument]]] = []
        for owner, task_id in wanted:
            k = TaskKeys.of(task_id)
            calls.append(({"task": k.task, "inputs": k.inputs}, {"owner": owner.key, "most": most}))
        return [
            None if reply[0] == b"NOT_FOUND" else task_of(task_id, reply[1:], self._vault)
            for (_, task_id), reply in zip(wanted, self._sender.send_all(script("get"), calls), strict=True)
        ]

    def answer(self, owner: Owner, task_id: str, answers: Mapping[str, bytes]) -> Answered:
        """The answers to outstanding inputs are durable; the rest is ignored. The first answer to a key stands.

        Raises:
            TaskNotFound: this owner has no such task.
        """
        k = TaskKeys.of(task_id)
        code, *rest = self._send(
            script("answer"),
            {"task": k.task, "inputs": k.inputs, "due": k.due},
            id=k.id,
            owner=owner.key,
            resend=self.settings.resend_ms,
            message=RESUMED,
            answers=[
                part
                for key, answer in answers.items()
                if key.isascii()  # as all keys are
                for part in (key, self._vault.seal(k.id, f"answer:{key}", answer))
            ],
        )
        if code == b"NOT_FOUND":
            raise TaskNotFound(task_id)
        if code == b"OPEN":
            return Answered(accepted=words_of(rest[0]))
        if code == b"RESUME":
            *following, round_, accepted = rest
            return Answered(words_of(accepted), next_run_of(task_id, following), words_of(round_))
        return Answered()

    def note_unshown(self, task_id: str, input_key: str) -> None:
        """Tell whoever waits for the task that its client cannot show this input. The input stays open."""
        key = keys.unshown_key(task_id)
        with self._sender.client() as client:
            pipeline = client.pipeline(transaction=True)
            pipeline.sadd(key, input_key)
            pipeline.pexpire(key, UNSHOWN_MS)
            pipeline.execute()
            client.publish(keys.FEED, task_id)

    def unshown(self, task_id: str) -> frozenset[str]:
        """Return the inputs that a client of the task said, a moment ago, it cannot show."""
        with self._sender.client() as client:
            members: Any = client.smembers(keys.unshown_key(task_id))
        return frozenset(member.decode() for member in members)

    def confirm(self) -> None:
        """What anybody has written so far is on disk, if a strict store promises that; else nothing happens."""
        self._sender.confirm()

    def cancel(self, owner: Owner, task_id: str) -> Cancellation:
        """The task is cancelled, or its run is asked to end; an ended task is left as it is.

        Raises:
            TaskNotFound: this owner has no such task.
        """
        k = TaskKeys.of(task_id)
        code, *following = self._send(
            script("cancel"),
            {**k.of_record, "watched": k.watched},
            id=k.id,
            owner=owner.key,
            grace=self.settings.cancel_grace_ms,
            keep=self.settings.keep_ms,
            message=CANCELLED,
        )
        if code == b"NOT_FOUND":
            raise TaskNotFound(task_id)
        return Cancellation(Outcome(code.decode().lower()), next_run_of(task_id, following))

    # The run's side. Each of these is refused with RunSuperseded once another run holds the lease.

    def claim(self, task_id: str, run_id: str) -> Claim | Refusal:
        """The run holds the lease and has all it needs to begin; or the reason why there is nothing to run.

        Raises:
            SealBroken: none of the keys here opens it. The task is handed back, for a run where there is one.
        """
        code, *rest = self._send(
            script("claim"),
            TaskKeys.of(task_id).of_record,
            id=task_id,
            run_id=run_id,
            lease_ms=self.settings.lease_ms,
            message=RUNNING,
        )
        if code != b"CLAIMED":
            return Refusal(code.decode().lower())
        try:
            return claim_of(task_id, run_id, rest, self._vault)
        except SealBroken:
            self.release(task_id, run_id, SEALED)
            raise

    def renew(self, task_id: str, run_id: str) -> bool:
        """The lease is extended; True when somebody asked to cancel the task."""
        k = TaskKeys.of(task_id)
        return self._held(
            task_id,
            run_id,
            script("renew"),
            {"task": k.task, "due": k.due},
            lease_ms=self.settings.lease_ms,
        )

    def progress(self, task_id: str, run_id: str, message: str, event: bytes) -> bool:
        """The message stands as the task's, `event` went to the feed, the lease is extended; True as for `renew`."""
        k = TaskKeys.of(task_id)
        return self._held(
            task_id,
            run_id,
            script("progress"),
            {"task": k.task, "due": k.due},
            lease_ms=self.settings.lease_ms,
            message=message,
            event=event,
        )

    def keep_step(self, task_id: str, run_id: str, step: str, result: bytes) -> bool:
        """The step's result is durable, the lease is extended; True as for `renew`."""
        k = TaskKeys.of(task_id)
        return self._held(
            task_id,
            run_id,
            script("step"),
            {"task": k.task, "steps": k.steps, "due": k.due},
            lease_ms=self.settings.lease_ms,
            step=step,
            result=self._vault.seal(task_id, f"step:{step}", result),
        )

    def park(self, task_id: str, run_id: str, asked: Sequence[Asked]) -> bool:
        """The inputs are outstanding and the lease is dropped. False when a cancel came first: the run has to end.

        Raises:
            ValueError: an input key was used before in this task's life.
        """
        k = TaskKeys.of(task_id)
        code, *rest = self._send(
            script("park"),
            {"task": k.task, "inputs": k.inputs, "due": k.due},
            id=task_id,
            run_id=run_id,
            message=PARKED,
            asked=[
                part
                for one in asked
                for part in (
                    one.input_key,
                    self._vault.seal(task_id, f"request:{one.input_key}", one.request),
                    one.validator,
                    one.time_limit_ms,
                )
            ],
        )
        if code == b"SUPERSEDED":
            raise RunSuperseded(task_id, run_id)
        if code == b"USED":
            raise ValueError(f"the input key {rest[0].decode()!r} was used before")
        return bool(code == b"PARKED")

    def finish(
        self,
        task_id: str,
        run_id: str,
        status: Status,
        *,
        message: str = "",
        result: bytes = b"",
        error: TaskError | None = None,
    ) -> Status:
        """The task has ended, with this status or, when a cancel came first, as cancelled."""
        code, *rest = self._send(
            script("finish"),
            TaskKeys.of(task_id).of_record,
            id=task_id,
            run_id=run_id,
            keep=self.settings.keep_ms,
            status=status.value,
            message=message,
            result=self._vault.seal(task_id, "result", result),
            error_code=error.code if error else "",
            error_message=error.message if error else "",
            error_data=self._vault.seal(task_id, "error_data", error.data or b"") if error else b"",
        )
        if code == b"SUPERSEDED":
            raise RunSuperseded(task_id, run_id)
        return Status(rest[0].decode())

    def release(self, task_id: str, run_id: str, message: str = RELEASED) -> NextRun | None:
        """The run is handed back and the next one due. None when a cancel came first: the run has to end."""
        k = TaskKeys.of(task_id)
        code, *following = self._send(
            script("release"),
            {"task": k.task, "due": k.due},
            id=task_id,
            run_id=run_id,
            resend=self.settings.resend_ms,
            message=message,
        )
        if code == b"SUPERSEDED":
            raise RunSuperseded(task_id, run_id)
        return next_run_of(task_id, following)

    def revoke(self, task_id: str, run_number: int) -> bool:
        """The task is cancelled, if this is its run, because the message that starts it was revoked. Else False."""
        (code,) = self._send(
            script("revoke"),
            TaskKeys.of(task_id).of_record,
            id=task_id,
            number=run_number,
            keep=self.settings.keep_ms,
            message=CANCELLED,
        )
        return bool(code == b"REVOKED")

    # The side of the resume chord.

    def given(self, task_id: str, input_key: str) -> Given | None:
        """One answered input, or None when there is nothing to check: gone, not answered, or checked already."""
        names = [f"{part}:{input_key}" for part in ("request", "answer", "verdict", "validator")]
        with self._sender.client() as client:
            values: list[Any] = client.hmget(TaskKeys.of(task_id).inputs, names)
        request, answer, verdict, validator = values
        if not request or not answer or verdict:
            return None
        return Given(
            self._vault.open(task_id, f"request:{input_key}", request),
            self._vault.open(task_id, f"answer:{input_key}", answer),
            validator=(validator or b"").decode(),
        )

    def accept(self, task_id: str, input_key: str, verdict: Verdict, why: str = "") -> bool:
        """The verdict on an answer is durable; the first one stands. False when the task or the answer is gone."""
        k = TaskKeys.of(task_id)
        return bool(
            self._send(
                script("accept"),
                {"task": k.task, "inputs": k.inputs},
                input=input_key,
                verdict=verdict.value,
                why=why,
            )[0]
            == b"NOTED"
        )

    # The deployment's side.

    def ping(self) -> None:
        """The store answers."""
        with self._sender.client() as client:
            client.ping()

    def probe(self) -> None:
        """Do once what a call needs of the store, and undo it.

        Raises:
            StoreForbidden: the user lacks a right, which the message names.
            StoreRefused: the server takes no writes now.
        """
        # The nodes of a cluster share the buckets.
        for bucket in range(BUCKETS if self.settings.redis_url.startswith("redis+cluster:") else 1):
            self._send(script("probe"), keys.probe_keys(bucket), nobody=keys.NOBODY)
        self.confirm()

    def now_ms(self) -> int:
        """The clock of the store, which all deadlines are told by."""
        with self._sender.client() as client:
            seconds, microseconds = client.time()
        return int(seconds) * 1000 + int(microseconds) // 1000

    def secret(self) -> bytes:
        """The secret that all processes of this deployment share; made by the first that asks."""
        with self._sender.client() as client:
            client.set(keys.SECRET, secrets.token_hex(32), nx=True)
            shared = client.get(keys.SECRET)
        assert isinstance(shared, bytes)
        return shared

    def close(self) -> None:
        """The connections of this process are closed."""
        self._sender.close()

    def _earlier(self, owner: Owner, code: bytes, task_id: str) -> Task:
        if code == b"CONFLICT":
            raise CallConflict(task_id)
        return self.get(owner, task_id)

    def _held(self, task_id: str, run_id: str, one: Script, named: Mapping[str, str], **args: Argument) -> bool:
        code, *rest = self._send(one, named, id=task_id, run_id=run_id, **args)
        if code == b"SUPERSEDED":
            raise RunSuperseded(task_id, run_id)
        return bool(int(rest[0]))

    def _send(self, one: Script, named: Mapping[str, str], **args: Argument) -> list[Any]:
        return self._sender.send(one, named, **args)
