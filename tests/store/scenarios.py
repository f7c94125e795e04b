"""For every script, calls that lead to each of its replies; what must hold for all scripts is tested over these."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from coatcheck.tasks_store import (
    Asked,
    CallConflict,
    Remains,
    RunSuperseded,
    Status,
    TaskError,
    TaskNotFound,
    TaskStore,
    Verdict,
)
from coatcheck.tasks_store.keys import WORKERS, TaskKeys
from coatcheck.tasks_store.model import new_task_id
from coatcheck.tasks_store.scripts import script
from tests.store.stages import (
    CONFIRM,
    NO,
    OWNER,
    REASON,
    STRANGER,
    YES,
    Raw,
    call,
    cancelling,
    completed,
    delegated,
    parked,
    past,
    past_limit,
    queued,
    resumed,
    running,
)

Call = Callable[[], object]
EXPECTED_REFUSALS = (RunSuperseded, TaskNotFound, CallConflict, ValueError)
"""What a call may raise because the store said no, as opposed to being away."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One call in one situation."""

    script: str
    first: str
    """The code that the first sending is answered with."""
    second: str
    """The code that the second sending is answered with."""
    prepare: Callable[[TaskStore, Raw], Call]
    """Brings the situation about and returns the call."""
    moves_clock: bool = False
    """True for a call whose purpose is to move a time on: sent twice, it does so twice."""

    @property
    def name(self) -> str:
        """What the test report calls it."""
        return f"{self.script}-{self.first}-{self.second}"


SCENARIOS: list[Scenario] = []


def scenario(script: str, first: str, second: str = "", *, moves_clock: bool = False) -> Callable[[Any], Any]:
    """The decorated preparation is a scenario of this script; without `second` both sendings have one answer."""

    def add(prepare: Callable[[TaskStore, Raw], Call]) -> Callable[[TaskStore, Raw], Call]:
        SCENARIOS.append(Scenario(script, first, second or first, prepare, moves_clock))
        return prepare

    return add


def attempt(one: Call) -> None:
    """The call was made; it is no matter that the store said no."""
    with suppress(*EXPECTED_REFUSALS):
        one()


@scenario("create", "CREATED")
def _(store: TaskStore, raw: Raw) -> Call:
    new = call(answers={"q": (CONFIRM.request, YES)}, trace=b"{}", idempotency_key="once")
    task_id = new_task_id(new.call)
    return lambda: store.create(new, task_id)


@scenario("create", "EXISTS")
def _(store: TaskStore, raw: Raw) -> Call:
    queued(store, idempotency_key="once")
    return lambda: store.create(call(idempotency_key="once"))


@scenario("create", "CONFLICT")
def _(store: TaskStore, raw: Raw) -> Call:
    queued(store, idempotency_key="once")
    return lambda: store.create(call(idempotency_key="once", tool="other"))


@scenario("repeated", "UNKNOWN")
def _(store: TaskStore, raw: Raw) -> Call:
    return lambda: store.repeated(call(idempotency_key="once"))


@scenario("repeated", "EXISTS")
def _(store: TaskStore, raw: Raw) -> Call:
    queued(store, idempotency_key="once")
    return lambda: store.repeated(call(idempotency_key="once"))


@scenario("repeated", "CONFLICT")
def _(store: TaskStore, raw: Raw) -> Call:
    queued(store, idempotency_key="once")
    return lambda: store.repeated(call(idempotency_key="once", tool="other"))


@scenario("get", "FOUND")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = parked(store, [CONFIRM, REASON])
    return lambda: store.get(OWNER, task_id)


@scenario("get", "LARGE")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = running(store)
    store.finish(task_id, "run-1", Status.COMPLETED, result=b'"' + b"x" * 300_000 + b'"')
    k = TaskKeys.of(task_id)
    return lambda: store._send(script("get"), {"task": k.task, "inputs": k.inputs}, owner=OWNER.key, most=1)


@scenario("get", "NOT_FOUND")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = queued(store)
    return lambda: store.get(STRANGER, task_id)


@scenario("claim", "CLAIMED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = queued(store)
    return lambda: store.claim(task_id, "run-1")


@scenario("claim", "BUSY")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = running(store)
    return lambda: store.claim(task_id, "run-2")


@scenario("claim", "PARKED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = parked(store)
    return lambda: store.claim(task_id, "run-2")


@scenario("claim", "TERMINAL")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = completed(store)
    return lambda: store.claim(task_id, "run-2")


@scenario("claim", "GONE")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = new_task_id()
    return lambda: store.claim(task_id, "run-1")


@scenario("renew", "RENEWED", moves_clock=True)
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = cancelling(store)
    return lambda: store.renew(task_id, "run-1")


@scenario("renew", "SUPERSEDED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = running(store)
    return lambda: store.renew(task_id, "run-2")


@scenario("progress", "NOTED", moves_clock=True)
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = running(store)
    return lambda: store.progress(task_id, "run-1", "Half of it", b"{}")


@scenario("progress", "SUPERSEDED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = parked(store)
    return lambda: store.progress(task_id, "run-1", "Half of it", b"{}")


@scenario("step", "KEPT", moves_clock=True)
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = running(store)
    return lambda: store.keep_step(task_id, "run-1", "load", b"[1]")


@scenario("step", "SUPERSEDED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = resumed(store)
    return lambda: store.keep_step(task_id, "run-1", "load", b"[1]")


@scenario("park", "PARKED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = running(store)
    asked = [CONFIRM, Asked("limited", REASON.request, "module:check", 60_000)]
    return lambda: store.park(task_id, "run-1", asked)


@scenario("park", "USED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = resumed(store)
    store.claim(task_id, "run-2")
    return lambda: store.park(task_id, "run-2", [REASON, CONFIRM])


@scenario("park", "CANCELLED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = cancelling(store)
    return lambda: store.park(task_id, "run-1", [CONFIRM])


@scenario("park", "SUPERSEDED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = running(store)
    return lambda: store.park(task_id, "run-2", [CONFIRM])


@scenario("answer", "RESUME", "IGNORED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = parked(store)
    return lambda: store.answer(OWNER, task_id, {CONFIRM.input_key: YES})


@scenario("answer", "OPEN", "IGNORED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = parked(store, [CONFIRM, REASON])
    return lambda: store.answer(OWNER, task_id, {REASON.input_key: YES, "unknown": NO})


@scenario("answer", "NOT_FOUND")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = parked(store)
    return lambda: store.answer(STRANGER, task_id, {CONFIRM.input_key: YES})


@scenario("accept", "NOTED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = resumed(store)
    return lambda: store.accept(task_id, CONFIRM.input_key, Verdict.REJECTED, "not like this")


@scenario("accept", "GONE")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = parked(store)
    return lambda: store.accept(task_id, CONFIRM.input_key, Verdict.ACCEPTED)


@scenario("lapse", "RESUME", "EARLY")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = parked(store, [Asked("limited", CONFIRM.request, "", 60_000)])
    past_limit(raw, task_id, "limited")
    return lambda: store.maintenance.lapse(task_id)


@scenario("lapse", "OPEN", "EARLY")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = parked(store, [Asked("limited", CONFIRM.request, "", 60_000), Asked("later", b"{}", "", 90_000)])
    past_limit(raw, task_id, "limited")
    return lambda: store.maintenance.lapse(task_id)


@scenario("finish", "FINISHED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = resumed(store)
    store.claim(task_id, "run-2")
    store.keep_step(task_id, "run-2", "load", b"[1]")
    error = TaskError(-32603, "broken", b"{}")
    return lambda: store.finish(task_id, "run-2", Status.FAILED, message="Broken", error=error)


@scenario("finish", "SUPERSEDED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = running(store)
    return lambda: store.finish(task_id, "run-2", Status.COMPLETED, result=b"{}")


@scenario("release", "RELEASED", "SUPERSEDED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = running(store)
    return lambda: store.release(task_id, "run-1")


@scenario("release", "CANCELLED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = cancelling(store)
    return lambda: store.release(task_id, "run-1")


@scenario("abandon", "ABANDONED", moves_clock=True)
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = running(store)
    return lambda: store.maintenance.abandon(task_id, "run")


@scenario("abandon", "SUPERSEDED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = running(store)
    return lambda: store.maintenance.abandon(task_id, "walk")


@scenario("abort", "ABORTED", "SUPERSEDED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = running(store)
    return lambda: store.maintenance.abort(task_id, "run", "The time limit passed")


@scenario("cancel", "DONE", "TOO_LATE")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = parked(store)
    return lambda: store.cancel(OWNER, task_id)


@scenario("cancel", "REQUESTED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = running(store)
    return lambda: store.cancel(OWNER, task_id)


@scenario("cancel", "NOT_FOUND")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = running(store)
    return lambda: store.cancel(STRANGER, task_id)


@scenario("due", "")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = queued(store)
    past(raw, task_id, "resend")
    return lambda: store.maintenance.due(int(task_id[0]), 10)


@scenario("inspect", "EXPIRE")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = running(store)
    past(raw, task_id, "lease", "expires")
    return lambda: store.maintenance.inspect(task_id)


@scenario("inspect", "RESEND")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = queued(store)
    past(raw, task_id, "resend")
    return lambda: store.maintenance.inspect(task_id)


@scenario("inspect", "LAPSE")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = parked(store, [Asked("limited", CONFIRM.request, "", 60_000)])
    past_limit(raw, task_id, "limited")
    return lambda: store.maintenance.inspect(task_id)


@scenario("inspect", "PURGE")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = completed(store)
    past(raw, task_id, "expires")
    return lambda: store.maintenance.inspect(task_id)


@scenario("inspect", "RECOVER")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = running(store)
    past(raw, task_id, "lease")
    return lambda: store.maintenance.inspect(task_id)


@scenario("inspect", "NOTHING")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = running(store)
    past(raw, task_id)
    return lambda: store.maintenance.inspect(task_id)


@scenario("expire", "EXPIRED", "EARLY")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = parked(store)
    past(raw, task_id, "expires")
    return lambda: store.maintenance.expire(task_id)


@scenario("recover", "REQUEUED", "EARLY")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = running(store)
    past(raw, task_id, "lease")
    return lambda: store.maintenance.recover(task_id, held=False)


@scenario("recover", "FAILED", "EARLY")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = running(store, max_runs=1)
    past(raw, task_id, "lease")
    return lambda: store.maintenance.recover(task_id, held=False)


@scenario("recover", "CANCELLED", "EARLY")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = cancelling(store)
    past(raw, task_id, "cancel_at")
    return lambda: store.maintenance.recover(task_id, held=True)


@scenario("recover", "HELD")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = running(store)
    past(raw, task_id, "lease")
    return lambda: store.maintenance.recover(task_id, held=True)


@scenario("resend", "RESEND", "EARLY")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = queued(store)
    past(raw, task_id, "resend")
    return lambda: store.maintenance.resend(task_id)


@scenario("purge", "PURGED")
def _(store: TaskStore, raw: Raw) -> Call:
    new = call(idempotency_key="once")
    task_id = store.create(new)[0].task_id
    store.cancel(OWNER, task_id)
    past(raw, task_id, "expires")
    return lambda: store.maintenance.purge(task_id, Remains(OWNER, new.call))


@scenario("purge", "EARLY")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = completed(store)
    return lambda: store.maintenance.purge(task_id, Remains(OWNER))


@scenario("beat", "SEEN", moves_clock=True)
def _(store: TaskStore, raw: Raw) -> Call:
    raw.zadd(WORKERS, {"other": 1000})
    return lambda: store.maintenance.beat("worker")


@scenario("probe", "PROBED")
def _(store: TaskStore, raw: Raw) -> Call:
    return store.probe


@scenario("lead", "LEADING", moves_clock=True)
def _(store: TaskStore, raw: Raw) -> Call:
    return lambda: store.maintenance.lead("worker")


@scenario("lead", "FOLLOWING")
def _(store: TaskStore, raw: Raw) -> Call:
    store.maintenance.lead("other")
    return lambda: store.maintenance.lead("worker")


@scenario("alive", "ALIVE")
def _(store: TaskStore, raw: Raw) -> Call:
    store.maintenance.beat("worker")
    return store.maintenance.workers_alive


@scenario("take", "TAKEN")
def _(store: TaskStore, raw: Raw) -> Call:
    return lambda: store.quota.take("bucket", 1, 2, "nonce")


@scenario("take", "WAIT")
def _(store: TaskStore, raw: Raw) -> Call:
    for _ in range(2):
        store.quota.take("bucket", 0.001, 1)
    return lambda: store.quota.take("bucket", 0.001, 1)


@scenario("admit", "ADMITTED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = queued(store)
    return lambda: store.quota.admit(OWNER, task_id, 60_000, 1, 1)


@scenario("admit", "OWNER")
def _(store: TaskStore, raw: Raw) -> Call:
    store.quota.admit(OWNER, queued(store), 60_000, 1, 0)
    return lambda: store.quota.admit(OWNER, new_task_id(), 60_000, 1, 0)


@scenario("admit", "TENANT")
def _(store: TaskStore, raw: Raw) -> Call:
    store.quota.admit(OWNER, queued(store), 60_000, 0, 1)
    return lambda: store.quota.admit(OWNER, new_task_id(), 60_000, 0, 1)


@scenario("claim", "DELEGATED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = delegated(store, raw)
    return lambda: store.claim(task_id, "run-2")


@scenario("cancel", "REQUESTED", moves_clock=True)
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = delegated(store, raw)
    return lambda: store.cancel(OWNER, task_id)


@scenario("recover", "CANCELLED", "EARLY")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = delegated(store, raw)
    store.cancel(OWNER, task_id)
    past(raw, task_id, "cancel_at")
    return lambda: store.maintenance.recover(task_id, held=True)


@scenario("delegate", "DELEGATED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = running(store)
    return lambda: store.delegations.delegate(task_id, "run-1", "Handed over")


@scenario("delegate", "CANCELLED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = cancelling(store)
    return lambda: store.delegations.delegate(task_id, "run-1", "Handed over")


@scenario("delegate", "SUPERSEDED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = running(store)
    return lambda: store.delegations.delegate(task_id, "run-2", "Handed over")


@scenario("look", "LOOK", "EARLY")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = delegated(store, raw)
    return lambda: store.delegations.look(task_id, 60_000)


@scenario("look", "ENDED", "EARLY")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = delegated(store, raw)
    past(raw, task_id, "expires")
    store.maintenance.expire(task_id)
    return lambda: store.delegations.look(task_id, 60_000)


@scenario("note", "NOTED", moves_clock=True)
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = delegated(store, raw)
    return lambda: store.delegations.note(task_id, "Half of it", b"{}", 60_000, b"{}")


@scenario("note", "ENDED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = completed(store)
    return lambda: store.delegations.note(task_id, "Half of it", b"{}", 60_000)


@scenario("settle", "SETTLED", "ENDED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = delegated(store, raw)
    error = TaskError(-32603, "broken")
    return lambda: store.delegations.settle(task_id, Status.FAILED, message="Broken", error=error)


@scenario("revoke", "REVOKED", "IGNORED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = resumed(store)
    return lambda: store.revoke(task_id, 2)


@scenario("revoke", "REVOKED", "IGNORED")
def _(store: TaskStore, raw: Raw) -> Call:
    task_id = running(store)
    return lambda: store.revoke(task_id, 1)


@scenario("tally", "ADDED", "REPEATED")
def _(store: TaskStore, raw: Raw) -> Call:
    return lambda: store.statistics.add("process", 1, {"runs": 2})


@scenario("report", "REPORTED", moves_clock=True)
def _(store: TaskStore, raw: Raw) -> Call:
    return lambda: store.statistics.report_streams("web", 3)


@scenario("report", "REPORTED", moves_clock=True)
def _(store: TaskStore, raw: Raw) -> Call:
    store.statistics.report_streams("other", 1)
    store.statistics.report_streams("web", 3)
    return lambda: store.statistics.report_streams("web", 0)


@scenario("listeners", "LISTENERS")
def _(store: TaskStore, raw: Raw) -> Call:
    store.statistics.report_streams("web", 3)
    return store.statistics.streams
