"""Encryption at rest: what callers and tools put into a task is sealed before it leaves for Redis."""

import hmac
import secrets
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from coatcheck.tasks_store.errors import SealBroken

MARK: Final = b"\x01"
"""Leads every sealed value. Nothing else that is stored begins so, since the rest is JSON."""

NAME_BYTES: Final = 4
NONCE_BYTES: Final = 12


class Vault:
    """Seals with the first of its keys and opens with any of them; without a key it hands everything on as it is.

    AES-256-GCM under a key of the task's own, derived from the configured one, with the field's name as associated
    data: a value that is moved to another task or field does not open, and no number of tasks wears a key out. What was
    stored before there was a key is read as it is.
    """

    def __init__(self, keys: Sequence[bytes]) -> None:
        """Each key has 32 bytes."""
        self._keys: Mapping[bytes, bytes] = {_name_of(key): key for key in keys}
        self._first = _name_of(keys[0]) if keys else b""

    def seal(self, task_id: str, field: str, value: bytes) -> bytes:
        """The value as it is stored in this field of this task. Nothing stays nothing: there is no value then."""
        if not self._first or not value:
            return value
        nonce = secrets.token_bytes(NONCE_BYTES)
        sealed = self._cipher(self._first, task_id).encrypt(nonce, value, field.encode())
        return MARK + self._first + nonce + sealed

    def open(self, task_id: str, field: str, stored: bytes) -> bytes:
        """The value that was sealed.

        Raises:
            SealBroken: none of the keys sealed this, here.
        """
        if not stored.startswith(MARK):
            return stored
        name, rest = stored[1 : 1 + NAME_BYTES], stored[1 + NAME_BYTES :]
        if name not in self._keys:
            raise SealBroken(task_id, field)
        try:
            return self._cipher(name, task_id).decrypt(rest[:NONCE_BYTES], rest[NONCE_BYTES:], field.encode())
        except (InvalidTag, ValueError) as fault:
            raise SealBroken(task_id, field) from fault

    def _cipher(self, name: bytes, task_id: str) -> AESGCM:
        return AESGCM(hmac.digest(self._keys[name], task_id.encode(), "sha256"))


def _name_of(key: bytes) -> bytes:
    """Tells which key sealed a value, and nothing about the key."""
    return sha256(b"coatcheck key\n" + key).digest()[:NAME_BYTES]
