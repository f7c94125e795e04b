"""The legacy revisions: the features of each, and the capabilities that its clients are assumed to have. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Revision:
    """A legacy revision and its features."""

    name: str
    capabilities: Mapping[str, Any]
    """Capabilities that every client is assumed to have: what it declared in `initialize` is not kept. A client that
    lacks one responds with an error, and is not sent the same request again on one stream."""
    has_batches: bool = False
    """Several messages can come in one array."""
    has_structure: bool = True
    """Tools have titles, metadata and output schemas, and results have structured content and links."""
    has_tasks: bool = False
    """Calls can become tasks, tools can have icons, and forms have modes and titled choices."""


REVISIONS: Final[Mapping[str, Revision]] = {
    revision.name: revision
    for revision in (
        Revision(
            "2025-11-25",
            {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}},
            has_tasks=True,
        ),
        Revision("2025-06-18", {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}),
        Revision("2025-03-26", {"sampling": {}, "roots": {}}, has_batches=True, has_structure=False),
    )
}
"""By name, the newest first."""

NEWEST_LEGACY: Final = REVISIONS["2025-11-25"]
"""Offered to a client that requests another revision. Source: 2025-11-25, basic/lifecycle, "Version Negotiation"."""

DEFAULT_REVISION: Final = REVISIONS["2025-03-26"]
"""The revision of a client that names none. Source: 2025-11-25, basic/transports, "Protocol Version Header"."""
