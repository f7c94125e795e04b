"""Watch delegated tasks, in every worker of a deployment that exposes any."""

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Final, Self

import orjson

from coatcheck.tasks_store import Look, Status, StoreUnavailable, TaskStore
from coatcheck.workers.external.states import RUNNING, ending_of_state, lost, told_of, unseen
from coatcheck.workers.messages.other_application import Census, Cluster, State, message_id_of
from coatcheck.workers.settings import WorkerSettings
from coatcheck.workers.telemetry.logs import about
from coatcheck.workers.telemetry.metrics import SETTLED, Measures
from coatcheck.workers.toolkit.errors import BrokerUnavailable, ResultsUnavailable
from coatcheck.workers.toolkit.outcome import TIME_LIMIT, Ending
from coatcheck.workers.toolkit.tool import Catalogue, Exposed, Tool

logger = logging.getLogger(__name__)

ROUND_SECONDS: Final = 0.1
"""Seconds between two polls while tasks are due."""

IDLE_ROUND_SECONDS: Final = 0.25
"""Seconds until the next poll if nothing was due."""

BATCH: Final = 100
"""How many tasks of a bucket one poll looks at."""

HOLD_MS: Final = 15_000
"""How long a look is reserved for the watcher that began it: longer than any look takes. If the watcher dies, or the
other application's servers are unavailable, the next look is after this time."""

FIRST_PAUSE_MS: Final = 100

CANCEL_MS: Final = 300
"""How long a cancel may take to reach the result backend before the workers are asked which one has the work."""

AGE_PER_PAUSE: Final = 10
"""The pause between two looks is the task's age divided by this, so that short work is reported soon and long work
costs little."""

AWAY: Final = (StoreUnavailable, BrokerUnavailable, ResultsUnavailable)
"""Errors of a server, which affect all tasks alike."""

NOWHERE: Final = "Nothing is known of this Celery task any more: no queue and no worker has it, and it left no result"

PROBES_PER_SILENCE: Final = 6
MOST_PROBE_MS: Final = 10_000
"""The longest silence before the workers are asked. Otherwise it is a sixth of the setting for the silence."""


@dataclass(frozen=True, slots=True)
class Note:
    """What a look stores for the next one. Times are ages of the task in ms."""

    state: str = ""
    """The digest of the last state."""
    said: str = ""
    """The task's status message while the state has none."""
    heard_ms: int = 0
    """When the work was last found in a queue or with a worker."""
    probe_ms: int = 0
    """When the workers are asked, unless the state changes before."""
    was_idle: bool = False
    """Whether all workers were idle at the last probe."""
    was_cancelled: bool = False
    """Whether the cancel was sent to the workers."""

    @classmethod
    def read(cls, note: bytes) -> Self:
        """Parse a stored note; return an empty one for the first look."""
        return cls(**orjson.loads(note)) if note else cls()

    def written(self) -> bytes:
        """Return the note as it is stored."""
        return orjson.dumps(self)


@dataclass(frozen=True, slots=True)
class Watched:
    """A delegated task during a look."""

    task_id: str
    tool: Tool
    exposed: Exposed
    look: Look
    note: Note
    state: State

    @property
    def message_id(self) -> str:
        """The id of the message with the work."""
        return message_id_of(self.task_id)


class Probe:
    """What workers and broker report in one poll. Each is asked when needed, and once."""

    def __init__(self, cluster: Cluster, message_ids: Sequence[str]) -> None:
        self._cluster = cluster
        self._message_ids = message_ids
        self._backlogs: dict[str, int] = {}

    @cached_property
    def census(self) -> Census:
        """The messages that the workers hold."""
        return self._cluster.census(self._message_ids)

    @cached_property
    def is_idle(self) -> bool:
        """Whether workers replied, and all of them are idle."""
        return self.census.workers > 0 and self._cluster.is_idle(self.census.workers)

    def backlog(self, queue: str) -> int:
        """Return the number of messages in this queue."""
        if queue not in self._backlogs:
            self._backlogs[queue] = self._cluster.backlog(queue)
        return self._backlogs[queue]


class Watcher:
    """Settles delegated tasks when their work ends.

    Any number of watchers share the looks. The result backend is polled with growing pauses. If the state does not
    change, the workers are asked whether they hold the work, so that lost work is settled too.
    """

    def __init__(
        self, store: TaskStore, cluster: Cluster, catalogue: Catalogue, settings: WorkerSettings, measures: Measures
    ) -> None:
        self._store = store
        self._cluster = cluster
        self._catalogue = catalogue
        self._settings = settings
        self._measures = measures
        self._probe_ms = min(MOST_PROBE_MS, settings.expose_silence_ms // PROBES_PER_SILENCE)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="coatcheck-watcher", daemon=True)

    def start(self) -> None:
        """Start the watcher's thread, which runs until it is stopped."""
        self._thread.start()

    def stop(self) -> None:
        """Tell the thread to end."""
        self._stopping.set()

    def round(self) -> int:
        """Look at every task that is due, and return their number."""
        due = self._store.delegations.due(BATCH)
        silent = [watched for task_id in due if (watched := self._look_at(task_id)) is not None]
        if silent:
            self._probe(silent)
        return len(due)

    def _look_at(self, task_id: str) -> Watched | None:
        silent = None
        with about(task_id=task_id), _alone():
            silent = self._looked_at(task_id)
        return silent  # noqa: RET504 - None after a fault

    def _looked_at(self, task_id: str) -> Watched | None:
        """Look at the task. Return it if the workers have to be asked about it, else None."""
        look = self._store.delegations.look(task_id, HOLD_MS)
        if look is None:
            return None
        tool = self._catalogue.get(look.tool)
        if look.has_ended:
            self._cluster.cancel(message_id_of(task_id), terminate=tool is not None and tool.terminate)
            return None
        if tool is None or tool.exposed is None:
            self._settle(task_id, look.tool, lost(f"This deployment no longer offers the tool {look.tool}"))
            return None
        note = Note.read(look.note)
        if look.is_cancelled and not note.was_cancelled:
            self._cluster.cancel(message_id_of(task_id), terminate=tool.terminate)
            note = replace(note, was_cancelled=True, probe_ms=look.age_ms + CANCEL_MS)
        state = self._cluster.state(message_id_of(task_id))
        if (seen := _digest(state)) != note.state:
            probe_ms = note.probe_ms if look.is_cancelled else look.age_ms + self._probe_ms
            note = replace(note, state=seen, said="", heard_ms=look.age_ms, probe_ms=probe_ms, was_idle=False)
        return self._judged(Watched(task_id, tool, tool.exposed, look, note, state))

    def _judged(self, watched: Watched) -> Watched | None:
        ending = self._ending(watched)
        if ending is not None:
            self._settle(watched.task_id, watched.tool.name, ending)
            return None
        if watched.look.age_ms >= watched.note.probe_ms:
            return watched
        self._keep(watched)
        return None

    def _ending(self, watched: Watched) -> Ending | None:
        limit_ms = watched.tool.time_limit_ms
        ending = ending_of_state(watched.tool, watched.state, self._settings, f"task {watched.task_id}")
        if ending is None and limit_ms is not None and watched.look.age_ms >= limit_ms:
            self._cluster.cancel(watched.message_id, terminate=watched.tool.terminate)
            return lost(TIME_LIMIT)
        return ending

    def _probe(self, silent: Sequence[Watched]) -> None:
        """Ask the workers about tasks whose state has not changed for a while, and note or settle each."""
        probe = Probe(self._cluster, [watched.message_id for watched in silent])
        for watched in silent:
            with about(task_id=watched.task_id), _alone():
                # The work can have ended between the look and the probe.
                state = self._cluster.state(watched.message_id)
                note = replace(watched.note, probe_ms=watched.look.age_ms + self._probe_ms)
                self._weighed(replace(watched, state=state, note=note), probe)

    def _weighed(self, watched: Watched, probe: Probe) -> None:
        queue = watched.exposed.queue
        if (ending := self._ending(watched)) is not None:
            self._settle(watched.task_id, watched.tool.name, ending)
        elif watched.message_id in probe.census.active:
            self._keep(_heard_of(watched, RUNNING))
        elif watched.look.is_cancelled and probe.census.workers:
            # No worker executes it, and all workers have received the cancel.
            self._settle(watched.task_id, watched.tool.name, Ending(Status.CANCELLED, "Cancelled"))
        elif watched.message_id in probe.census.waiting:
            self._keep(_heard_of(watched, "Waiting for a worker"))
        elif probe.backlog(queue):
            self._keep(_heard_of(watched, f"Waiting in the queue {queue}"))
        else:
            self._missed(watched, probe)

    def _missed(self, watched: Watched, probe: Probe) -> None:
        """Settle work that is in no queue and with no worker once that is certain: it can have been replaced by other
        Celery tasks, or be about to be redelivered."""
        silence_ms = watched.look.age_ms - watched.note.heard_ms
        is_idle = watched.state.name != "RETRY" and probe.is_idle
        if silence_ms >= self._settings.expose_silence_ms or (is_idle and watched.note.was_idle):
            self._cluster.cancel(watched.message_id, terminate=watched.tool.terminate)
            self._settle(watched.task_id, watched.tool.name, self._given_up(watched))
        else:
            said = watched.note.said if probe.census.workers else "None of their workers answers"
            self._keep(replace(watched, note=replace(watched.note, said=said, was_idle=is_idle)))

    def _given_up(self, watched: Watched) -> Ending:
        """Return the ending of work that was not found: lost, unless this process cannot read its result."""
        if why := self._cluster.unseen_result(watched.exposed):
            logger.error("the result of %s cannot be seen: %s", watched.exposed.task, why)
            return unseen(watched.tool, why, self._settings, f"task {watched.task_id}")
        return lost(f"{NOWHERE}: {watched.exposed.task}")

    def _keep(self, watched: Watched) -> None:
        told = told_of(watched.state)
        is_news = watched.note.state != Note.read(watched.look.note).state
        pause_ms = min(self._settings.expose_look_ms, max(FIRST_PAUSE_MS, watched.look.age_ms // AGE_PER_PAUSE))
        self._store.delegations.note(
            watched.task_id,
            told.message or watched.note.said or f"Handed over as {watched.exposed.task}",
            watched.note.written(),
            FIRST_PAUSE_MS if watched.look.is_cancelled else pause_ms,
            told.progress if is_news else b"",
        )

    def _settle(self, task_id: str, tool: str, ending: Ending) -> None:
        status = self._store.delegations.settle(
            task_id, ending.status, message=ending.message, result=ending.result, error=ending.error
        )
        if status is not None:
            outcome = ending.outcome if status is ending.status else status.value
            with about(task_id=task_id, tool=tool):
                logger.info("task %s %s", task_id, outcome)
            self._measures.count(SETTLED, tool, outcome)

    def _run(self) -> None:
        while not self._stopping.is_set():
            looked = 0
            try:
                looked = self.round()
            except AWAY as fault:
                logger.warning("exposed tasks are not looked at for now: %s", fault)
            except Exception:
                logger.exception("a look at exposed tasks failed; the next round goes on")
            self._stopping.wait(ROUND_SECONDS if looked else IDLE_ROUND_SECONDS)


@contextmanager
def _alone() -> Iterator[None]:
    """Log an exception of one task, so that the look at the others continues."""
    try:
        yield
    except AWAY:
        raise
    except Exception:
        logger.exception("a look at an exposed task failed; the next one is in %s s", HOLD_MS // 1000)


def _heard_of(watched: Watched, said: str) -> Watched:
    """Return the task with the note that its work was found."""
    note = replace(watched.note, said=said, heard_ms=watched.look.age_ms, was_idle=False)
    return replace(watched, note=note)


def _digest(state: State) -> str:
    shown = f"{state.name} {state.result!r}"
    return sha256(shown.encode("utf-8", "backslashreplace")).hexdigest()[:16]
