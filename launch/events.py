"""What the launcher waits for: each a fact that one of its threads or signal handlers reports."""

from dataclasses import dataclass
from queue import SimpleQueue


@dataclass(frozen=True, slots=True)
class StopRequested:
    """A signal asks the whole platform to stop."""


@dataclass(frozen=True, slots=True)
class RedisReady:
    """The embedded Redis has read its data and answers."""


@dataclass(frozen=True, slots=True)
class PlatformReady:
    """A tool call would be answered."""


@dataclass(frozen=True, slots=True)
class PlatformNotReady:
    """The time for getting ready is up."""

    waited_s: float
    why: str


@dataclass(frozen=True, slots=True)
class ChildEnded:
    """A process has ended, and so has all that it had started."""

    name: str
    returncode: int


Event = StopRequested | RedisReady | PlatformReady | PlatformNotReady | ChildEnded
# A SimpleQueue, because its `put` may interrupt itself: signal handlers use it.
Events = SimpleQueue[Event]
