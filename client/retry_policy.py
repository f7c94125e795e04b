"""How long to keep trying, and how long to pause in between."""

import random
import time
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

from coatcheck.client.deadline import Deadline

FIRST_PAUSE_S = 0.25
"""The pause after the first failure; each further one is twice as long."""

LONGEST_PAUSE_S = 15.0
"""No pause of ours is longer; one that a server asks for may be."""

LONGEST_ASKED_S = 1e9
"""No server means a longer pause, whatever number it sends."""

POLL_JITTER = 0.2
"""By how much of itself a polling interval may grow, so that clients started together do not poll together."""

DEFAULT_POLL_MS = 1_000
"""Between two looks at a task whose server names no interval."""


@dataclass
class RetryPolicy:
    """The pauses between tries, until `seconds` have passed since the first failure in a row."""

    seconds: float
    deadline: Deadline = field(default_factory=lambda: Deadline(None))
    """No pause goes beyond this."""
    _failures: int = 0
    _since: float = 0.0

    def pause_s(self, asked_for_s: float | None = None) -> float | None:
        """How long to pause before the next try, at least as long as the server asked for; None when it is over."""
        now = time.monotonic()
        if self._failures == 0:
            self._since = now
        pause = min(FIRST_PAUSE_S * 2.0**self._failures, LONGEST_PAUSE_S) * random.uniform(0.5, 1)  # noqa: S311 - timing
        pause = max(pause, asked_for_s or 0)
        left_s = self.deadline.left_s
        if now + pause > self._since + self.seconds or (left_s is not None and pause > left_s):
            return None
        self._failures += 1
        return pause

    @property
    def is_failing(self) -> bool:
        """The last try failed."""
        return self._failures > 0

    def reset(self) -> None:
        """The next failure is the first one again."""
        self._failures = 0


def poll_pause_s(poll_interval_ms: int | None) -> float:
    """How long to wait before the next look at a task: never less than its server says."""
    interval = DEFAULT_POLL_MS if poll_interval_ms is None else poll_interval_ms
    return interval / 1000 * random.uniform(1, 1 + POLL_JITTER)  # noqa: S311 - timing, not a secret


def retry_after_s(value: str | None) -> float | None:
    """The pause that a `Retry-After` header asks for; None when it cannot be read. Source: RFC 9110, 10.2.3."""
    if value is None:
        return None
    if value.strip().isdecimal():
        return min(float(value), LONGEST_ASKED_S)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
