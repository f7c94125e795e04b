"""Authenticate callers by tokens that the operator created: `COATCHECK_AUTH=tokens`."""

import hashlib
import hmac
import logging
import time
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from marshmallow import Schema, ValidationError, fields
from marshmallow.validate import Length, Regexp

from coatcheck.tasks_store import Owner, text_of
from coatcheck.web.auth.challenge import Challenger
from coatcheck.web.errors import InvalidWebSettings
from coatcheck.web.protocol.caller import Caller
from coatcheck.web.settings.auth import SCOPE, AuthSettings

logger = logging.getLogger(__name__)

FILE_CHECK_S: Final = 1.0
"""Seconds between two checks of the file, so the maximum delay until a change takes effect."""


class TokenEntrySchema(Schema):
    """Schema of a `[[token]]` table."""

    sha256 = fields.String(required=True, validate=Regexp(r"[0-9a-f]{64}\Z", error="is 64 hexadecimal digits"))
    tenant = fields.String(load_default="")
    principal = fields.String(required=True, validate=Length(min=1))
    scopes = fields.List(fields.String(validate=SCOPE), load_default=[])
    expires = fields.Raw()


TOKEN_ENTRIES: Final = TokenEntrySchema(many=True)


@dataclass(frozen=True, slots=True)
class TokenEntry:
    """The digest of one token, and its caller."""

    digest: bytes
    caller: Caller


class StaticTokens:
    """The tokens of a file, and those of a variable."""

    def __init__(self, settings: AuthSettings, challenger: Challenger) -> None:
        """Raises InvalidSettings for entries that cannot be read."""
        self._file = settings.tokens_file
        self._challenger = challenger
        self._fixed = parse_entries("COATCHECK_TOKENS", settings.tokens)
        # Before the entries, so that a file that changes meanwhile is read again.
        self._version = None if self._file is None else _file_version(self._file)
        self._set_entries(entries_of(settings))
        self._check_at = time.monotonic() + FILE_CHECK_S

    def caller_of(self, token: str) -> Caller:
        """Return the caller of this token.

        Raises:
            Unauthenticated: nobody, or its time is over.
        """
        self._reload_if_changed()
        digest = hashlib.sha256(token.encode()).digest()
        # All are compared, each in constant time: nothing can be learned from how long it takes.
        found = [entry.caller for entry in self._entries if hmac.compare_digest(entry.digest, digest)]
        if not found:
            self._challenger.invalid("it is unknown")
        caller = found[0]
        if caller.expires_s is not None and caller.expires_s <= time.time():
            self._challenger.invalid("it has expired")
        return replace(caller, is_known=partial(self._is_current, digest, caller))

    def _is_current(self, digest: bytes, caller: Caller) -> bool:
        """Tell whether the token still belongs to the same caller with the same rights."""
        self._reload_if_changed()
        return self._callers.get(digest) == caller

    def _reload_if_changed(self) -> None:
        """Read the file again if it has changed. An unreadable file changes nothing, so that a mistake locks nobody
        out."""
        now = time.monotonic()
        if self._file is None or now < self._check_at:
            return
        self._check_at = now + FILE_CHECK_S
        stamp = _file_version(self._file)
        if stamp == self._version:
            return
        self._version = stamp
        try:
            entries = self._fixed + read_entries(self._file)
        except InvalidWebSettings as fault:
            logger.error("the tokens stay as they were: %s", fault)
        else:
            self._set_entries(entries)

    def _set_entries(self, entries: tuple[TokenEntry, ...]) -> None:
        """Replace the tokens; of two entries for one token the first counts."""
        self._entries = entries
        self._callers = {entry.digest: entry.caller for entry in reversed(entries)}
        logger.info("tokens known: %s", len(entries))


def entries_of(settings: AuthSettings) -> tuple[TokenEntry, ...]:
    """Return the entries of the variable and of the file. Raises InvalidSettings."""
    fixed = parse_entries("COATCHECK_TOKENS", settings.tokens)
    return fixed if settings.tokens_file is None else fixed + read_entries(settings.tokens_file)


def read_entries(file: Path) -> tuple[TokenEntry, ...]:
    """Read the entries of a file. Raises InvalidWebSettings."""
    try:
        text = text_of(file)
    except ValueError as fault:
        raise InvalidWebSettings(f"COATCHECK_TOKENS_FILE {fault}") from fault
    return parse_entries("COATCHECK_TOKENS_FILE", text)


def parse_entries(variable: str, text: str) -> tuple[TokenEntry, ...]:
    """Parse entries in TOML. Raises InvalidWebSettings, whose message contains no value of the text."""
    try:
        document = tomllib.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as fault:  # also numbers without end, and lists in lists in lists
        raise InvalidWebSettings(f"{variable} is not TOML: {fault}") from fault
    if unknown := sorted(set(document) - {"token"}):
        raise InvalidWebSettings(f"{variable} holds something else than [[token]]: {', '.join(unknown)}")
    try:
        loaded: list[dict[str, Any]] = TOKEN_ENTRIES.load(document.get("token", []))
        return tuple(_entry(fields) for fields in loaded)
    except ValidationError as fault:
        raise InvalidWebSettings(f"{variable} {fault.messages}") from fault


def _entry(fields: Mapping[str, Any]) -> TokenEntry:
    expires = fields.get("expires")
    if expires is not None and not (isinstance(expires, datetime) and expires.tzinfo):
        raise ValidationError("expires is a date and time with an offset, such as 2027-01-31T00:00:00Z")
    caller = Caller(
        Owner(fields["tenant"], fields["principal"]),
        frozenset(fields["scopes"]),
        None if expires is None else expires.timestamp(),
    )
    return TokenEntry(bytes.fromhex(fields["sha256"]), caller)


def _file_version(file: Path) -> tuple[int, int, int] | None:
    """Return a value that changes when the file is modified or replaced; None when it cannot be read."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
