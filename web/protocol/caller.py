"""Whom a request acts for."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from coatcheck.tasks_store import ANONYMOUS, Owner


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who has proved who they are, and what they may do."""

    owner: Owner
    """Whose tasks the request may see."""
    scopes: frozenset[str] | None = None
    """What they were granted; None where nobody has to be granted anything."""
    expires_s: float | None = None
    """Seconds since 1970, after which the proof is worth nothing and no stream may go on; None for never."""
    is_known: Callable[[], bool] | None = field(default=None, compare=False, repr=False)
    """Whether the proof would be taken again now, as far as that is known here; cheap. None where only time tells."""

    @property
    def is_valid(self) -> bool:
        """What they proved themselves with is still worth something. Source: basic/authorization, "Token Handling"."""
        if self.expires_s is not None and self.expires_s <= time.time():
            return False
        return self.is_known is None or self.is_known()

    def lacks(self, needed: frozenset[str]) -> bool:
        """Something of what is needed was not granted."""
        return self.scopes is not None and not needed <= self.scopes


ANYBODY = Caller(ANONYMOUS)
"""The one caller there is when authentication is off."""
