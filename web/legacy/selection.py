"""Determine whether a message is of a legacy revision, and of which. Pure."""

from collections.abc import Mapping
from typing import Final

from coatcheck.web.legacy.revisions import DEFAULT_REVISION, NEWEST_LEGACY, REVISIONS, Revision
from coatcheck.web.protocol.envelope import PROTOCOL_VERSION, SUPPORTED_VERSIONS, HeaderLookup
from coatcheck.web.protocol.headers import METHOD_HEADER, VERSION_HEADER, trimmed

INITIALIZE: Final = "initialize"


def revision_of(body: object, header: HeaderLookup) -> Revision | None:
    """Return the legacy revision of a message; None for a message of the current revision.

    A message that names the current revision, in its `_meta` or its header, is of the current revision. Of the others,
    `initialize` is legacy, and the version in the header names the revision; an unknown version is left to the current
    handler, which refuses it. Without a version, the header `Mcp-Method` shows a client of the current revision.

    Source: 2025-11-25, basic/transports, "Protocol Version Header"; 2026-07-28, basic/versioning.
    """
    sent = header(VERSION_HEADER)
    if _declares_current(body) or (sent is not None and trimmed(sent) in SUPPORTED_VERSIONS):
        return None
    if isinstance(body, Mapping) and body.get("method") == INITIALIZE:
        return NEWEST_LEGACY
    if sent is not None:
        return REVISIONS.get(trimmed(sent))
    return DEFAULT_REVISION if isinstance(body, Mapping | list) and header(METHOD_HEADER) is None else None


def _declares_current(body: object) -> bool:
    params = body.get("params") if isinstance(body, Mapping) else None
    meta = params.get("_meta") if isinstance(params, Mapping) else None
    return isinstance(meta, Mapping) and PROTOCOL_VERSION in meta
