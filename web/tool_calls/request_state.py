"""`requestState`: the encrypted state that a client sends back with its answers."""

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
    """The state of a call between two rounds of input."""

    task_id: str = ""
    """The parked task of a synchronous call."""
    answers: Mapping[str, object] = field(default_factory=dict)
    """The answers to first inputs given so far."""
    round: str = ""
    """Makes the states of two rounds differ: a client can take equal ones for no progress."""


@dataclass(frozen=True, slots=True)
class CallBinding:
    """The call that a state belongs to; it cannot be opened for another."""

    owner: Owner
    tool: str
    arguments: Mapping[str, object]

    @property
    def salt(self) -> str:
        """Equal for the same call only, whatever the order of its arguments."""
        call = json.dumps([self.owner.key, "tools/call", self.tool, self.arguments], sort_keys=True)
        return f"{SALT}.{hashlib.sha256(call.encode()).hexdigest()}"


class StateSealer:
    """Encrypts states, and decrypts those that any process of this deployment encrypted for the same call.

    The binding is part of the key, not of the state, so no comparison can be forgotten.

    Source: basic/patterns/mrtr, "Server Requirements".
    """

    def __init__(self, secret: Callable[[], bytes], lifetime_s: int) -> None:
        self._secret = secret
        self._lifetime_s = lifetime_s

    def seal(self, salt: str, state: RequestState) -> str:
        """Return the encrypted and authenticated state, which can contain a person's answers.

        `salt` is that of the call's binding.
        """
        text = json.dumps([state.task_id, state.answers, state.round])
        return self._fernet(salt).encrypt(text.encode()).decode("ascii")

    def open(self, salt: str, sealed: str) -> RequestState:
        """Return the state that was sealed for this call.

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
        """Return the cipher for this call: AES and HMAC, with a key that only this deployment can derive."""
        key = hmac.digest(self._secret(), salt.encode(), "sha256")
        return Fernet(base64.urlsafe_b64encode(key))
