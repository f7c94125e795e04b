"""The authenticated caller of a request."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from coatcheck.tasks_store import ANONYMOUS, Owner


@dataclass(frozen=True, slots=True)
class Caller:
    """An authenticated caller and their scopes."""

    owner: Owner
    """The owner whose tasks the caller can access."""
    scopes: frozenset[str] | None = None
    """Granted scopes; None where authorization is off."""
    expires_s: float | None = None
    """Unix time in seconds at which the credentials expire and open streams end; None for never."""
    is_known: Callable[[], bool] | None = field(default=None, compare=False, repr=False)
    """Tell whether the credentials would be accepted again now, without I/O. None where they only expire."""

    @property
    def is_valid(self) -> bool:
        """Tell whether the credentials are still valid. Source: basic/authorization, "Token Handling"."""
        if self.expires_s is not None and self.expires_s <= time.time():
            return False
        return self.is_known is None or self.is_known()

    def lacks(self, needed: frozenset[str]) -> bool:
        """Tell whether any of the needed scopes was not granted."""
        return self.scopes is not None and not needed <= self.scopes


ANYBODY = Caller(ANONYMOUS)
"""The only caller when authentication is off."""
