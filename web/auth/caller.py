"""Whom a request acts for."""

from dataclasses import dataclass

from tasks_store import ANONYMOUS, Owner


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who has proved who they are, and what they may do."""

    owner: Owner
    """Whose tasks the request may see."""
    scopes: frozenset[str] | None = None
    """What they were granted; None where nobody has to be granted anything."""
    expires_s: float | None = None
    """Seconds since 1970, after which the proof is worth nothing and no stream may go on; None for never."""

    def lacks(self, needed: frozenset[str]) -> bool:
        """Something of what is needed was not granted."""
        return self.scopes is not None and not needed <= self.scopes


ANYBODY = Caller(ANONYMOUS)
"""The one caller there is when authentication is off."""
