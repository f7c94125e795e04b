"""What owners and tenants have in use, counted where all processes see it."""

import secrets
from enum import StrEnum
from typing import Any, Final

from coatcheck.tasks_store import keys
from coatcheck.tasks_store.keys import TaskKeys
from coatcheck.tasks_store.model import Owner
from coatcheck.tasks_store.scripts import script
from coatcheck.tasks_store.sender import Sender

NO_LIMIT: Final = 2**53

BATCH: Final = 500
"""How many records are looked at in one round trip."""


class Fullness(StrEnum):
    """Whose tasks are too many."""

    OWNER = "owner"
    TENANT = "tenant"


class Quota:
    """Counts against limits. Methods raise `StoreUnavailable` as those of the task store do."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def take(self, name: str, per_s: float, at_once: int, nonce: str = "", count: int = 1) -> int:
        """Take `count` from the bucket of this name; return 0, or after how many ms there are so many.

        The bucket refills at this rate and holds `at_once`, which is the most that is taken. `nonce` is given to send
        the same taking again.
        """
        code, *rest = self._sender.send(
            script("take"),
            {"bucket": keys.bucket_key(name)},
            nonce=nonce or secrets.token_hex(8),
            count=count,
            every=f"{1000 / per_s:.6f}",
            burst=at_once,
        )
        return 0 if code == b"TAKEN" else int(rest[0])

    def admit(self, owner: Owner, task_id: str, ttl_ms: int, per_owner: int, per_tenant: int) -> Fullness | None:
        """One more task is counted until it ends or expires; or whose tasks are too many. A limit of 0 is none.

        A task that ends is not taken from the count at once, which would cost every task a round trip: only when a
        count is full, the records are looked at and those that ended are dropped.
        """
        full = self._admit(owner, task_id, ttl_ms, per_owner, per_tenant)
        # Where the owner had too many, the tenant may turn out to have too many too.
        while full is not None and self._drop_ended(owner, full):
            full = self._admit(owner, task_id, ttl_ms, per_owner, per_tenant)
        return full

    def dismiss(self, owner: Owner, task_id: str) -> None:
        """A task that was admitted and then not made is not counted any more."""
        with self._sender.client() as client:
            for count in keys.alive_keys(owner).values():
                client.zrem(count, task_id)

    def _admit(self, owner: Owner, task_id: str, ttl_ms: int, per_owner: int, per_tenant: int) -> Fullness | None:
        (code,) = self._sender.send(
            script("admit"),
            keys.alive_keys(owner),
            id=task_id,
            ttl=ttl_ms,
            per_owner=per_owner or NO_LIMIT,
            per_tenant=per_tenant or NO_LIMIT,
        )
        return None if code == b"ADMITTED" else Fullness(code.decode().lower())

    def _drop_ended(self, owner: Owner, full: Fullness) -> bool:
        """True when any of those that were counted has ended; it is not counted any more."""
        count = keys.alive_keys(owner)[full.value]
        dropped = 0
        with self._sender.client() as client:
            counted: list[Any] = client.zrange(count, 0, -1)
            ids = [task_id.decode() for task_id in counted]
            for start in range(0, len(ids), BATCH):
                batch = ids[start : start + BATCH]
                pipeline = client.pipeline(transaction=False)
                for task_id in batch:
                    pipeline.hget(TaskKeys.of(task_id).task, "phase")
                phases = pipeline.execute()
                ended = [task_id for task_id, phase in zip(batch, phases, strict=True) if phase in (None, b"done")]
                if ended:
                    dropped += client.zrem(count, *ended)
        return dropped > 0
