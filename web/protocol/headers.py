"""Check the headers that mirror the body, so that a router that reads headers and a server that reads the body agree.

Source: basic/transports/streamable-http, "Request Metadata".
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cache
from typing import Any, Final

from coatcheck.web.errors import HeaderMismatch
from coatcheck.workers.toolkit.header_params import HeaderParam

VERSION_HEADER: Final = "MCP-Protocol-Version"
METHOD_HEADER: Final = "Mcp-Method"
NAME_HEADER: Final = "Mcp-Name"
PARAM_HEADER_PREFIX: Final = "Mcp-Param-"
"""Prefix of the header of a mirrored tool parameter."""

WHITE_SPACE: Final = " \t"
"""Optional white space around a header value. Source: RFC 9110, section 5.5."""

_PLAIN = re.compile(r"[\t\x20-\x7e]*")
_ENCODED = re.compile(r"=\?base64\?(.*)\?=", re.DOTALL)
_NUMBER = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,3})?")


def header_lookup(environ: Mapping[str, Any]) -> Callable[[str], str | None]:
    """Return a function that looks up the headers of a WSGI request; a repeated header reads as a list."""
    return lambda name: environ.get(_variable(name))


def trimmed(raw: str) -> str:
    """Return the value without surrounding white space."""
    return raw.strip(WHITE_SPACE)


def decoded(header: str, raw: str) -> str:
    """Decode a header value, which is plain text or base64.

    Raises:
        HeaderMismatch: characters that no header may hold, or an encoded form other than the one its text has.

    Source: basic/transports/streamable-http, "Value Encoding".
    """
    value = trimmed(raw)
    if not _PLAIN.fullmatch(value):
        raise HeaderMismatch(f"The header {header} holds characters that have to be sent encoded")
    if (encoded := _ENCODED.fullmatch(value)) is None:
        return value
    try:
        octets = base64.b64decode(encoded[1], validate=True)
        text = octets.decode("utf-8")
    except (binascii.Error, UnicodeDecodeError) as fault:
        raise HeaderMismatch(f"The header {header} is not base64 of UTF-8 text") from fault
    # Spare bits would give one text several spellings, and a reader that is less strict another text.
    if base64.b64encode(octets).decode("ascii") != encoded[1]:
        raise HeaderMismatch(f"The header {header} is not in canonical base64")
    return text


def check_mirrors(header: str, in_body: str, raw: str | None, *, may_be_encoded: bool = False) -> None:
    """Check that a header was sent and equals the value in the body.

    Raises:
        HeaderMismatch: it was not sent, or says something else; a header sent twice reads as a list, which differs.
    """
    if raw is None:
        raise HeaderMismatch(f"The header {header} is required")
    if (decoded(header, raw) if may_be_encoded else trimmed(raw)) != in_body:
        raise HeaderMismatch(f"The header {header} differs from the body")


def check_params(
    mirrored: Sequence[HeaderParam], arguments: Mapping[str, object], header: Callable[[str], str | None]
) -> None:
    """Check that each mirrored argument has its header, and that no other mirroring header was sent.

    An argument of a type that no header can mirror is left to the tool's schema, which refuses it.

    Raises:
        HeaderMismatch: a header is missing, unexpected, malformed or differs.

    Source: basic/transports/streamable-http, "Server Behavior for Custom Headers".
    """
    for param in mirrored:
        name = PARAM_HEADER_PREFIX + param.name
        raw = header(name)
        value = _value_at(arguments, param.path)
        if value is None:
            if raw is not None:
                raise HeaderMismatch(f"The header {name} was sent without its argument {'.'.join(param.path)}")
        elif isinstance(value, str):
            check_mirrors(name, value, raw, may_be_encoded=True)
        elif isinstance(value, bool):
            check_mirrors(name, "true" if value else "false", raw, may_be_encoded=True)
        elif isinstance(value, int | float):
            _check_number(name, value, raw)


def _check_number(name: str, value: float, raw: str | None) -> None:
    if raw is None:
        raise HeaderMismatch(f"The header {name} is required")
    text = decoded(name, raw)
    if not _NUMBER.fullmatch(text) or Decimal(text) != value:
        raise HeaderMismatch(f"The header {name} differs from the body")


@cache
def _variable(name: str) -> str:
    """Return the WSGI name of a header. Cached: the protocol and the tools have few names."""
    return f"HTTP_{name.upper().replace('-', '_')}"


def _value_at(arguments: Mapping[str, object], path: Sequence[str]) -> object:
    value: object = arguments
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
