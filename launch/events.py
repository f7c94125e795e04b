"""Events that threads and signal handlers of the launcher report."""

from dataclasses import dataclass
from queue import SimpleQueue


@dataclass(frozen=True, slots=True)
class StopRequested:
    """A signal requested a stop."""


@dataclass(frozen=True, slots=True)
class RedisReady:
    """The embedded Redis has read its data and responds."""


@dataclass(frozen=True, slots=True)
class PlatformReady:
    """The platform can answer a tool call."""


@dataclass(frozen=True, slots=True)
class PlatformNotReady:
    """The time limit for readiness has passed."""

    waited_s: float
    why: str


@dataclass(frozen=True, slots=True)
class ChildEnded:
    """A process and its descendants have ended."""

    name: str
    returncode: int


Event = StopRequested | RedisReady | PlatformReady | PlatformNotReady | ChildEnded
# A SimpleQueue, because its `put` is reentrant: signal handlers call it.
Events = SimpleQueue[Event]
