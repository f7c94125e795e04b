"""One trial: a platform, clients, disturbances, and the figures of what came of it."""

import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from redis import Redis

from coatcheck.tasks_store import keys
from tests.chaos.callers import Caller, Ticket
from tests.chaos.disturbances import Disturbances
from tests.chaos.ledger import LEDGER, Judgement, Ledger, judge
from tests.support.leaks import leaked_keys
from tests.support.platform import Platform
from tests.support.ports import free_port
from tests.support.waiting import wait_until

CALLERS = 4
"""How many clients share the calls."""

SETTLE_SECONDS = 90.0
"""How long the tasks may take to end once nothing goes wrong any more."""

SETTINGS: Mapping[str, str] = {
    "COATCHECK_LEASE_SECONDS": "3",
    "COATCHECK_SWEEP_SECONDS": "0.5",
    "COATCHECK_RESEND_SECONDS": "2",
    "COATCHECK_KEEP_SECONDS": "300",
}

FAULTS = "claimed,in-step,step-kept,parked,ending,finished,accepted,created,answered"
"""The places in our own code where a process kills itself now and then."""

FAULT_PROBABILITY = 0.004

OUTLIVED = """
if redis.call('EXISTS', KEYS[1]) == 1 then
  redis.call('HSET', KEYS[1], 'expires', 1)
  redis.call('ZADD', KEYS[2], 1, ARGV[1])
end
"""
"""Moves a record past its time to live, unless it was purged a moment ago."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What a trial measured."""

    seed: int
    seconds: float
    calls: int
    handles: int
    kills: Mapping[str, int]
    refusals: int
    lost: Sequence[str]
    """Tasks whose client has a handle, and which did not end, or ended as anything but the right result."""
    faults: Sequence[str]
    """Answers that no client should get."""
    judgement: Judgement
    keys_left: Sequence[str]

    @property
    def has_passed(self) -> bool:
        """Everything that was promised was kept."""
        broken = (self.lost, self.faults, self.judgement.done_twice, self.judgement.overlaps, self.keys_left)
        return self.handles == self.calls and not any(broken)

    def __str__(self) -> str:
        told = self.judgement
        slowest = max(told.recoveries, default=0.0)
        lines = {
            "seed": self.seed,
            "seconds": f"{self.seconds:.0f}",
            "calls / handles": f"{self.calls} / {self.handles}",
            **{f"{kind}": count for kind, count in sorted(self.kills.items())},
            "requests refused or cut off": self.refusals,
            "runs that died": told.died,
            "steps interrupted and repeated": told.interrupted,
            "slowest recovery of a run": f"{slowest:.2f} s",
            "tasks lost": len(self.lost),
            "wrong answers": len(self.faults),
            "kept steps done twice": len(told.done_twice),
            "overlapping runs": len(told.overlaps),
            "keys left": len(self.keys_left),
        }
        table = "\n".join(f"{name:<32}{value}" for name, value in lines.items())
        broken = (self.lost, self.faults, told.done_twice, told.overlaps, self.keys_left)
        details = "\n".join(f"  {line}" for part in broken for line in part[:10])
        return f"{table}\n{'PASSED' if self.has_passed else 'FAILED'}\n{details}".rstrip()


def run_trial(*, seed: int, seconds: float, tasks: int, logs: Path | None = None) -> Figures:
    """The figures of so many tasks that were called over so many seconds in which everything was killed at random."""
    with tempfile.TemporaryDirectory(prefix="coatcheck-chaos-", ignore_cleanup_errors=True) as folder:
        ledger = Ledger.create(Path(folder) / "ledger.sqlite")
        faults = ",".join(f"{point}=kill@{FAULT_PROBABILITY}" for point in FAULTS.split(","))
        env = {**SETTINGS, LEDGER: str(ledger.path), "COATCHECK_FAULTS": faults}
        with Platform(tools="tests.chaos.tools", env=env) as platform:
            platform.start(workers=2)
            second_door = free_port()
            platform.start_web(port=second_door)
            try:
                return _trial(platform, second_door, ledger, seed=seed, seconds=seconds, tasks=tasks)
            finally:
                if logs is not None:
                    for process in (*platform.webs, *platform.workers, platform.valkey.process):
                        (logs / f"{process.name}.log").write_text(process.log)


def _trial(platform: Platform, second_door: int, ledger: Ledger, *, seed: int, seconds: float, tasks: int) -> Figures:
    begin = time.monotonic()
    urls = [platform.url, f"http://127.0.0.1:{second_door}/mcp"]
    tickets = [
        Ticket(number, begin + seconds * number / tasks, key=f"errand-{number}" if number % 2 else "")
        for number in range(tasks)
    ]
    time_is_up = threading.Event()
    callers = [Caller(urls, tickets[start::CALLERS], time_is_up) for start in range(CALLERS)]
    for caller in callers:
        caller.start()
    disturbances = Disturbances(platform, seed)
    disturbances.go_on(seconds)
    try:
        deadline = time.monotonic() + SETTLE_SECONDS
        for caller in callers:
            caller.join(max(0.0, deadline - time.monotonic()))
    finally:
        time_is_up.set()
    for caller in callers:
        caller.join()
    took = time.monotonic() - begin
    with platform.valkey.client() as raw:
        keys_left = _keys_after_their_time(raw)
    return Figures(
        seed=seed,
        seconds=took,
        calls=tasks,
        handles=sum(bool(ticket.task_id) for ticket in tickets),
        kills=disturbances.counts,
        refusals=sum(caller.refusals for caller in callers),
        lost=[f"{one.task_id}: {one.task}" for one in tickets if one.task_id and not one.is_right],
        faults=[fault for caller in callers for fault in caller.faults],
        judgement=judge(ledger.entries(), disturbances.deaths),
        keys_left=keys_left,
    )


def _keys_after_their_time(raw: Redis) -> list[str]:
    """What is left in the store once every task's time to live is over and the sweeper has come by."""

    def all_purged() -> bool:
        records: list[bytes] = list(raw.scan_iter("coatcheck:{?}:task:*", count=1_000))
        for record in records:
            task_id = record.decode().rpartition(":")[2]
            raw.eval(OUTLIVED, 2, record, keys.due_key(task_id[0]), task_id)
        return not records

    wait_until(all_purged, 30.0, "the purge of every record")
    return leaked_keys(raw)
