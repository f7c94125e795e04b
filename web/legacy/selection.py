"""Tells which messages are of the older era, and of which revision. Pure."""

from collections.abc import Mapping
from typing import Final

from coatcheck.web.legacy.revisions import DEFAULT_REVISION, NEWEST_LEGACY, REVISIONS, Revision
from coatcheck.web.protocol.envelope import PROTOCOL_VERSION, SUPPORTED_VERSIONS, HeaderLookup
from coatcheck.web.protocol.headers import METHOD_HEADER, VERSION_HEADER, trimmed

INITIALIZE: Final = "initialize"


def revision_of(body: object, header: HeaderLookup) -> Revision | None:
    """The older revision that a message is written in; None for a message of today.

    Whatever says so itself is of today, by its `_meta` or by the version in its header. Of the others, `initialize`
    opens the older era, and a version in the header names the revision; one that nobody speaks gets today's error.
    Where there is no version at all, the header that names the method tells a client of today, which forgot it.

    Source: 2025-11-25, basic/transports, "Protocol Version Header"; 2026-07-28, basic/versioning.
    """
    sent = header(VERSION_HEADER)
    if _declares_today(body) or (sent is not None and trimmed(sent) in SUPPORTED_VERSIONS):
        return None
    if isinstance(body, Mapping) and body.get("method") == INITIALIZE:
        return NEWEST_LEGACY
    if sent is not None:
        return REVISIONS.get(trimmed(sent))
    return DEFAULT_REVISION if isinstance(body, Mapping | list) and header(METHOD_HEADER) is None else None


def _declares_today(body: object) -> bool:
    params = body.get("params") if isinstance(body, Mapping) else None
    meta = params.get("_meta") if isinstance(params, Mapping) else None
    return isinstance(meta, Mapping) and PROTOCOL_VERSION in meta
