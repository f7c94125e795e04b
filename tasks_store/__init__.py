"""The durable record of tasks, in Redis."""

from tasks_store.client import Patience
from tasks_store.errors import (
    CallConflict,
    InvalidStoreUrl,
    RunSuperseded,
    StoreError,
    StoreRefused,
    StoreUnavailable,
    TaskNotFound,
    UnfitStore,
)
from tasks_store.faults import Point, arm, reach
from tasks_store.feed import Feed, Watch
from tasks_store.fitness import refuse_unfit_store
from tasks_store.model import (
    ANONYMOUS,
    INPUT_KEY,
    Answered,
    Asked,
    Cancellation,
    Claim,
    DueKind,
    Event,
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
)
from tasks_store.settings import StoreSettings, fault_lines, milliseconds
from tasks_store.store import TaskStore

__all__ = [
    "ANONYMOUS",
    "INPUT_KEY",
    "Answered",
    "Asked",
    "CallConflict",
    "Cancellation",
    "Claim",
    "DueKind",
    "Event",
    "Feed",
    "Given",
    "InvalidStoreUrl",
    "NewTask",
    "NextRun",
    "Outcome",
    "Owner",
    "Patience",
    "Point",
    "Refusal",
    "RunSuperseded",
    "Status",
    "StoreError",
    "StoreRefused",
    "StoreSettings",
    "StoreUnavailable",
    "Task",
    "TaskError",
    "TaskNotFound",
    "TaskStore",
    "UnfitStore",
    "Verdict",
    "Watch",
    "arm",
    "fault_lines",
    "milliseconds",
    "reach",
    "refuse_unfit_store",
]
