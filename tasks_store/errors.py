"""What can go wrong between the caller and the stored record."""

from collections.abc import Sequence


class StoreError(Exception):
    """Root of everything this folder raises on purpose."""


class TaskNotFound(StoreError):
    """No task of this owner has this id: unknown, malformed, foreign and purged ids are one and the same."""

    def __init__(self, task_id: str) -> None:
        super().__init__("no such task")
        self.task_id = task_id


class RunSuperseded(StoreError):
    """The run no longer holds the lease; what it wanted to write was refused."""

    def __init__(self, task_id: str, run_id: str) -> None:
        super().__init__(f"run {run_id} of task {task_id} no longer holds the lease")
        self.task_id = task_id
        self.run_id = run_id


class CallConflict(StoreError):
    """The idempotency key already belongs to a task with another tool or other arguments."""

    def __init__(self, task_id: str) -> None:
        super().__init__(f"the idempotency key belongs to task {task_id}, which was called with something else")
        self.task_id = task_id


class InvalidCursor(StoreError):
    """The cursor of a list is none that a page had."""

    def __init__(self) -> None:
        super().__init__("no page had this cursor")


class StoreUnavailable(StoreError):
    """Redis did not answer, or not in time; a transition may have happened, and can be sent again."""


class WriteUnconfirmed(StoreUnavailable):
    """A strict store did not say that a write is on disk."""


class StoreRefused(StoreUnavailable):
    """Redis answered that it cannot write now: out of memory, read-only after a failover, or loading its data.

    The transition did not happen. Who can wait until the store is back can wait for this too, hence the base class.
    """


class StoreForbidden(StoreRefused):
    """Redis does not let this program's user do something; the message says what.

    It can be waited for as well: rights are given without a restart.
    """


class StoreMisaddressed(StoreRefused):
    """REDIS_URL leads to a server that does not have what it names; the message says what to do."""

    def __init__(self, why: str) -> None:
        super().__init__(f"REDIS_URL {why}")


class UnfitStore(StoreError):
    """The server could lose what it is given."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("\n".join([*faults, "COATCHECK_UNFIT_STORE=warn starts all the same."]))
        self.faults = tuple(faults)


class SealBroken(StoreError):
    """A stored value was sealed with a key that is not among ours, or is not what was stored."""

    def __init__(self, task_id: str, field: str) -> None:
        super().__init__(f"{field} of task {task_id} cannot be opened with any of COATCHECK_ENCRYPTION_KEYS")
        self.task_id = task_id
        self.field = field


class InvalidStoreUrl(StoreError):
    """The store's address cannot be understood."""

    def __init__(self, why: str) -> None:
        super().__init__(f"REDIS_URL {why}")
