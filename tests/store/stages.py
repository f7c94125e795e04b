"""Tasks brought to a stage of their life, and the data moved where the clock would have brought it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from redis import Redis
from redis.cluster import RedisCluster

from coatcheck.tasks_store import Asked, NewTask, Owner, Status, TaskError, TaskStore
from coatcheck.tasks_store.keys import TaskKeys

Raw = Redis | RedisCluster

OWNER = Owner("acme", "ada")
STRANGER = Owner("acme", "bob")
ONE_DAY_MS = 86_400_000

CONFIRM = Asked("confirm", b'{"method":"elicitation/create","params":{"message":"Sure?"}}')
REASON = Asked("reason", b'{"method":"elicitation/create","params":{"message":"Why?"}}')
YES = b'{"action":"accept","content":{"sure":true}}'
NO = b'{"action":"decline"}'


def call(**changes: Any) -> NewTask:
    """A call of one tool, with the given differences."""
    return NewTask(**{"owner": OWNER, "tool": "report", "arguments": b'{"size":1}', **changes})


def queued(store: TaskStore, **changes: Any) -> str:
    """The id of a task whose first message is due."""
    return store.create(call(**changes))[0].task_id


def running(store: TaskStore, run_id: str = "run-1", **changes: Any) -> str:
    """The id of a task whose run `run_id` holds the lease."""
    task_id = queued(store, **changes)
    store.claim(task_id, run_id)
    return task_id


def parked(store: TaskStore, asked: Sequence[Asked] = (CONFIRM,), **changes: Any) -> str:
    """The id of a task that waits for inputs."""
    task_id = running(store, **changes)
    assert store.park(task_id, "run-1", asked)
    return task_id


def delegated(store: TaskStore, raw: Raw, **changes: Any) -> str:
    """The id of a task whose work is with somebody else's worker, and which is to be looked at."""
    task_id = running(store, **changes)
    assert store.delegations.delegate(task_id, "run-1", "Handed over")
    look_due(raw, task_id)
    return task_id


def look_due(raw: Raw, task_id: str) -> None:
    """Somebody should look at the delegated task now."""
    raw.zadd(TaskKeys.of(task_id).watched, {task_id: 1000})


def resumed(store: TaskStore, **changes: Any) -> str:
    """The id of a task whose input was answered."""
    task_id = parked(store, **changes)
    store.answer(OWNER, task_id, {CONFIRM.input_key: YES})
    return task_id


def cancelling(store: TaskStore, **changes: Any) -> str:
    """The id of a running task that somebody asked to cancel."""
    task_id = running(store, **changes)
    store.cancel(OWNER, task_id)
    return task_id


def completed(store: TaskStore, **changes: Any) -> str:
    """The id of a task with a result."""
    task_id = running(store, **changes)
    store.finish(task_id, "run-1", Status.COMPLETED, result=b'{"content":[]}')
    return task_id


def failed(store: TaskStore, **changes: Any) -> str:
    """The id of a task with an error."""
    task_id = running(store, **changes)
    store.finish(task_id, "run-1", Status.FAILED, message="Broken", error=TaskError(-32603, "broken", b'{"x":1}'))
    return task_id


def cancelled(store: TaskStore, **changes: Any) -> str:
    """The id of a task that was cancelled before it ran."""
    task_id = queued(store, **changes)
    store.cancel(OWNER, task_id)
    return task_id


TERMINAL: dict[Status, Callable[[TaskStore], str]] = {
    Status.COMPLETED: completed,
    Status.FAILED: failed,
    Status.CANCELLED: cancelled,
}
"""How a task comes to each terminal status."""


def past(raw: Raw, task_id: str, *fields: str) -> None:
    """The given times of the record lie in the past, as if the clock had moved on."""
    k = TaskKeys.of(task_id)
    for name in fields:
        raw.hset(k.task, name, "1000")
    raw.zadd(k.due, {task_id: 1000})


def past_limit(raw: Raw, task_id: str, *input_keys: str) -> None:
    """The time limits of the given inputs lie in the past."""
    for key in input_keys:
        raw.hset(TaskKeys.of(task_id).inputs, f"limit:{key}", "1000")
    past(raw, task_id, "limit")


def field(raw: Raw, task_id: str, name: str) -> bytes | None:
    """One field of the record as it is stored."""
    return raw.hget(TaskKeys.of(task_id).task, name)  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Stored:
    """All that a server holds, key by key."""

    values: dict[str, object]
    living: frozenset[str]
    """The keys with a TTL."""


def snapshot(raw: Raw) -> Stored:
    """What the server holds now."""
    values: dict[str, object] = {}
    living = set()
    for name in raw.scan_iter(count=1_000):
        key = name.decode()
        kind = raw.type(name)
        if kind == b"hash":
            values[key] = raw.hgetall(name)
        elif kind == b"zset":
            values[key] = raw.zrange(name, 0, -1, withscores=True)
        else:
            values[key] = raw.get(name)
        if raw.pttl(name) > 0:
            living.add(key)
    return Stored(values, frozenset(living))
