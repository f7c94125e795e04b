"""`coatcheck token new`: create a token, and the entry for `COATCHECK_TOKENS`."""

import argparse
import hashlib
import json
import secrets
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from io import TextIOWrapper

from coatcheck.web.operations.command_line import run_program

LEADING_TEXT = "coatcheck_"
"""Prefix of every token, by which scanners for leaked secrets recognise it."""

RANDOM_BYTES = 32
"""Random bytes of a token: too many to guess, so a plain SHA-256 can be stored."""


def new_token() -> str:
    """Return a random token. It is shown once and stored nowhere."""
    return LEADING_TEXT + secrets.token_urlsafe(RANDOM_BYTES)


def entry_of(token: str, tenant: str, principal: str, scopes: Sequence[str], expires: datetime | None) -> str:
    """Return the `[[token]]` table to add to the file, in TOML."""
    lines = [
        "[[token]]",
        f"sha256 = {_text(hashlib.sha256(token.encode()).hexdigest())}",
        f"tenant = {_text(tenant)}",
        f"principal = {_text(principal)}",
        f"scopes = [{', '.join(map(_text, scopes))}]",
    ]
    if expires is not None:
        lines.append(f"expires = {expires.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}")
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the token to standard error, where a redirection does not catch it, and its entry to standard output."""
    parser = argparse.ArgumentParser(prog="coatcheck token", description="Tokens for COATCHECK_AUTH=tokens.")
    new = parser.add_subparsers(required=True, metavar="new").add_parser("new", help="make a token")
    new.add_argument("principal", help="who it is for; a new token of the same principal finds the tasks of the old")
    new.add_argument("--tenant", default="", help="the customer that the principal belongs to")
    new.add_argument("--scope", action="append", default=[], metavar="SCOPE", help="what it allows; may be repeated")
    new.add_argument("--days", type=float, help="how long it is good for; for ever, unless given")
    given = parser.parse_args(arguments)
    expires = None if given.days is None else datetime.now(UTC) + timedelta(days=given.days)
    token = new_token()
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # as the file is read
    # Two outputs, so that `>> tokens.toml` keeps the entry and shows the token.
    print(f"The token, shown this once: {token}", file=sys.stderr)  # noqa: T201
    print(entry_of(token, given.tenant, given.principal, given.scope, expires))  # noqa: T201
    return 0


def _text(value: str) -> str:
    """Return a TOML basic string: JSON's escapes are those of TOML, except for DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


if __name__ == "__main__":
    run_program(main)
