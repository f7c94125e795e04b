"""Everything that can happen to a task, in any order: no limit undoes what another one, or its owner, was promised."""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Final

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from redis import Redis

from coatcheck.tasks_store import Claim, DueKind, RunSuperseded, Status, TaskError, TaskStore
from coatcheck.tasks_store.keys import TaskKeys
from coatcheck.tasks_store.model import Asked
from tests.store.stages import CONFIRM, NO, OWNER, YES, field, past, past_limit, queued

PROCESS: Final = "process"
HASTE: Final = Asked("haste", CONFIRM.request, time_limit_ms=60_000)
"""An input with a time limit of its own."""

TIMES: Final = ("expires", "lease", "resend", "limit", "cancel_at")
"""Fields of a record that hold the moment of what the clock does."""


class Life:
    """One task, and what was promised of it."""

    def __init__(self, store: TaskStore, raw: Redis) -> None:
        self.store = store
        self.raw = raw
        self.task_id = queued(store, max_runs=2)
        self.run_id = ""
        self.runs = 0
        self.is_cancelled = False
        self.answers: dict[str, bytes] = {}
        self.steps: dict[str, bytes] = {}
        self.ended: tuple[Status, bytes | None] | None = None

    def claim(self) -> None:
        self.runs += 1
        claimed = self.store.claim(self.task_id, f"{PROCESS}-{self.runs}")
        if isinstance(claimed, Claim):
            self.run_id = claimed.run_id
            given = {key: one.answer for key, one in claimed.inputs.items() if one.answer}
            assert given == self.answers
            assert claimed.steps == self.steps

    def keep_step(self) -> None:
        result = b"%d" % self.runs
        if not self._is_refused(lambda: self.store.keep_step(self.task_id, self.run_id, "step", result)):
            self.steps.setdefault("step", result)

    def park(self) -> None:
        asked = [one for one in (CONFIRM, HASTE) if one.input_key not in self._used()]
        if asked:
            self._is_refused(lambda: self.store.park(self.task_id, self.run_id, asked))

    def finish(self) -> None:
        self._is_refused(lambda: self.store.finish(self.task_id, self.run_id, Status.COMPLETED, result=b"{}"))

    def fail(self) -> None:
        error = TaskError(-32603, "broken", None)
        self._is_refused(lambda: self.store.finish(self.task_id, self.run_id, Status.FAILED, error=error))

    def release(self) -> None:
        self._is_refused(lambda: self.store.release(self.task_id, self.run_id))

    def answer_one(self) -> None:
        self._answer({CONFIRM.input_key: YES})

    def answer_all(self) -> None:
        self._answer({CONFIRM.input_key: NO, HASTE.input_key: YES})

    def cancel(self) -> None:
        is_open = self.ended is None
        self.store.cancel(OWNER, self.task_id)
        self.is_cancelled = self.is_cancelled or is_open

    def lose_process(self) -> None:
        self.store.maintenance.abandon(self.task_id, PROCESS)
        self.store.maintenance.recover(self.task_id, held=False)

    def kill_at_limit(self) -> None:
        self.store.maintenance.abort(self.task_id, PROCESS, "too long")

    def revoke(self) -> None:
        if self.store.revoke(self.task_id, self.runs):
            self.is_cancelled = True

    def pass_time(self, name: str) -> None:
        """Let the clock come to this moment, if the record has it, and the sweeper look."""
        if self.ended is None and field(self.raw, self.task_id, name) is not None:
            if name == "limit":
                past_limit(self.raw, self.task_id, HASTE.input_key)
            past(self.raw, self.task_id, name)
        self.sweep()

    def sweep(self) -> None:
        kind, _ = self.store.maintenance.inspect(self.task_id)
        match kind:
            case DueKind.EXPIRE:
                self.store.maintenance.expire(self.task_id)
            case DueKind.RECOVER:
                self.store.maintenance.recover(self.task_id, held=False)
            case DueKind.RESEND:
                self.store.maintenance.resend(self.task_id)
            case DueKind.LAPSE:
                self.store.maintenance.lapse(self.task_id)

    def check(self) -> None:
        """What holds of every task at every moment."""
        task = self.store.get(OWNER, self.task_id)
        phase = (field(self.raw, self.task_id, "phase") or b"").decode()
        assert (phase == "done", phase == "parked") == (task.status.is_terminal, task.status is Status.INPUT_REQUIRED)
        assert bool(task.input_requests) == (phase == "parked")
        if self.ended is None and task.status.is_terminal:
            assert not self.is_cancelled or task.status is Status.CANCELLED
            self.ended = task.status, task.result
        assert self.ended is None or self.ended == (task.status, task.result)
        due = self.raw.zscore(TaskKeys.of(self.task_id).due, self.task_id)
        assert due is not None
        assert due <= int(field(self.raw, self.task_id, "expires") or 0)  # so that the clock ends it
        assert [key for key in self.raw.keys("coatcheck:*:" + self.task_id) if self.raw.pttl(key) < 0] == []  # type: ignore[union-attr, operator]

    def _answer(self, answers: Mapping[str, bytes]) -> None:
        for key in self.store.answer(OWNER, self.task_id, answers).accepted:
            self.answers[key] = answers[key]

    def _used(self) -> set[str]:
        names = self.raw.hkeys(TaskKeys.of(self.task_id).inputs)
        return {name.decode().partition(":")[2] for name in names}  # type: ignore[union-attr]

    def _is_refused(self, write: Callable[[], object]) -> bool:
        try:
            write()
        except RunSuperseded:
            return True
        return False


STEPS: Final[Mapping[str, Callable[[Life], None]]] = {
    **{name: getattr(Life, name) for name in ("claim", "keep_step", "park", "finish", "fail", "release")},
    **{name: getattr(Life, name) for name in ("answer_one", "answer_all", "cancel", "lose_process", "kill_at_limit")},
    **{name: getattr(Life, name) for name in ("revoke", "sweep")},
    **{f"past {name}": lambda life, name=name: life.pass_time(name) for name in TIMES},  # type: ignore[misc]
}


@settings(max_examples=40, deadline=timedelta(seconds=20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names=st.lists(st.sampled_from([*STEPS, "claim", "claim", "park"]), min_size=10, max_size=30))
@example(names=["cancel", "past expires"])
@example(names=["cancel", "kill_at_limit"])
def test_whatever_happens_to_a_task_it_ends_once_and_as_promised(
    names: list[str], store: TaskStore, raw: Redis
) -> None:
    life = Life(store, raw)
    life.claim()
    for name in names:
        STEPS[name](life)
        life.check()
