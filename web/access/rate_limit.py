"""Rate limits that hold across all web processes without a round trip for callers well below them."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from coatcheck.tasks_store import Quota, StoreUnavailable
from coatcheck.web.errors import LimitReached

MAX_CALLERS: Final = 20_000
"""Callers that one process remembers. A forgotten caller has a full local bucket again."""

STORE_OUTAGE_S: Final = 1.0
"""Seconds without rate limits after the store was unavailable: requests that need it fail by themselves."""


@dataclass(slots=True)
class _LocalBucket:
    """The part of a caller's rate that one process grants by itself: a token bucket."""

    left: float
    at: float
    closed_until: float = 0.0


class RateLimit:
    """Token buckets by name: so many requests per second, with a burst.

    Half of both is divided among the processes, as local buckets. What exceeds them is taken from the other half, a
    bucket in the store that all processes share. So an ordinary caller costs no round trip, all processes together
    never exceed the rate, and a caller above it is refused from memory until tokens are available.

    With `processes` 0 the shared bucket has the whole rate: each request costs a round trip, and one process can grant
    the whole burst.
    """

    def __init__(
        self, kind: str, per_s: float, at_once: float, processes: int, quota: Callable[[], Quota], words: str
    ) -> None:
        """`processes` is the number of processes with local buckets; 0 for the shared bucket alone."""
        self._kind = kind
        part = 0.5 / processes if processes else 0.0
        self._share_per_s = per_s * part
        self._burst = max(1.0, at_once * part) if processes else 0.0
        self._shared_per_s = per_s / 2 if processes else per_s
        self._shared_burst = max(1, round(at_once / 2 if processes else at_once))
        self._quota = quota
        self._words = words
        self._lock = threading.Lock()
        self._shares: OrderedDict[str, _LocalBucket] = OrderedDict()
        self._away_until = 0.0

    def take(self, name: str, count: int = 1) -> None:
        """Take `count` tokens.

        Raises:
            LimitReached: there are not enough.
        """
        if not self._shared_per_s:
            return
        now = time.monotonic()
        with self._lock:
            share = self._share_of(name, now)
            if share.left >= count:
                share.left -= count
                return
        if share.closed_until <= now and now >= self._away_until:
            self._ask(name, share, now, count)
        if share.closed_until > now:
            raise LimitReached(self._kind, self._words, share.closed_until - now)

    def _share_of(self, name: str, now: float) -> _LocalBucket:
        share = self._shares.get(name)
        if share is None:
            share = self._shares[name] = _LocalBucket(self._burst, now)
            if len(self._shares) > MAX_CALLERS:
                self._shares.popitem(last=False)
        else:
            share.left = min(self._burst, share.left + (now - share.at) * self._share_per_s)
            share.at = now
            self._shares.move_to_end(name)
        return share

    def _ask(self, name: str, share: _LocalBucket, now: float, count: int) -> None:
        try:
            wait_ms = self._quota().take(f"{self._kind}:{name}", self._shared_per_s, self._shared_burst, count=count)
        except StoreUnavailable:
            self._away_until = now + STORE_OUTAGE_S
            return
        if wait_ms and count > 1:
            raise LimitReached(self._kind, self._words, wait_ms / 1000)  # a single token can still be available
        share.closed_until = now + wait_ms / 1000
