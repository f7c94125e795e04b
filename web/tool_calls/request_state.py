"""`requestState`: what the front door has to know again when a client comes back with its answers."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from cryptography.fernet import Fernet, InvalidToken

from coatcheck.tasks_store import Owner
from coatcheck.web.errors import InvalidParams

SALT: Final = "coatcheck.requestState"


@dataclass(frozen=True, slots=True)
class RequestState:
    """Where a call stands between two of its rounds."""

    task_id: str = ""
    """The parked task of a synchronous call."""
    answers: Mapping[str, object] = field(default_factory=dict)
    """Answers given so far to what a tool asks first."""
    round: str = ""
    """Tells the states of two rounds apart: a client may take equal ones for no progress."""


@dataclass(frozen=True, slots=True)
class CallBinding:
    """The call that a state belongs to: it opens no other."""

    owner: Owner
    tool: str
    arguments: Mapping[str, object]

    @property
    def salt(self) -> str:
        """Equal for the same call only, whatever the order in which its arguments are written."""
        call = json.dumps([self.owner.key, "tools/call", self.tool, self.arguments], sort_keys=True)
        return f"{SALT}.{hashlib.sha256(call.encode()).hexdigest()}"


class StateSealer:
    """Seals states, and opens those that any process of this deployment sealed for the same call.

    The binding goes into the key, not into the state: there is nothing to compare and nothing to forget to compare.

    Source: basic/patterns/mrtr, "Server Requirements".
    """

    def __init__(self, secret: Callable[[], bytes], lifetime_s: int) -> None:
        self._secret = secret
        self._lifetime_s = lifetime_s

    def seal(self, salt: str, state: RequestState) -> str:
        """The state as the client carries it: neither readable, for it may hold a person's answers, nor changeable.

        `salt` is that of the call's binding.
        """
        text = json.dumps([state.task_id, state.answers, state.round])
        return self._fernet(salt).encrypt(text.encode()).decode("ascii")

    def open(self, salt: str, sealed: str) -> RequestState:
        """The state that was sealed for this call.

        Raises:
            InvalidParams: altered, too old, or sealed for another owner, tool or other arguments.
        """
        try:
            octets = sealed.encode("ascii")
            if base64.urlsafe_b64encode(base64.urlsafe_b64decode(octets)) != octets:
                raise InvalidToken  # base64 has several spellings of one text, and this is none that was sealed
            task_id, answers, round_ = json.loads(self._fernet(salt).decrypt(octets, ttl=self._lifetime_s))
        except (InvalidToken, ValueError) as fault:
            raise InvalidParams("requestState is not, or no longer, valid for this call; call without it") from fault
        return RequestState(task_id, answers, round_)

    def _fernet(self, salt: str) -> Fernet:
        """AES and HMAC, with a key that this deployment has for this call alone."""
        key = hmac.digest(self._secret(), salt.encode(), "sha256")
        return Fernet(base64.urlsafe_b64encode(key))
