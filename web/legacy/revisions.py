"""The older revisions: what each of them knows, and what its clients are taken to be able to do. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Revision:
    """One revision. Where it knows less than the newest, what is sent to its clients is made to fit."""

    name: str
    capabilities: Mapping[str, Any]
    """What a client is taken to have declared: it says so when it connects, and nothing is remembered of that. A client
    that cannot do it answers with an error, and is not asked anything twice on one stream."""
    has_batches: bool = False
    """Several messages may come in one array."""
    has_structure: bool = True
    """Tools have titles, metadata and output schemas, and results have structured content and links."""
    has_tasks: bool = False
    """Calls may become tasks, tools may have icons, and forms have modes and titled choices."""


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
"""What is offered to a client that asks for another. Source: 2025-11-25, basic/lifecycle, "Version Negotiation"."""

DEFAULT_REVISION: Final = REVISIONS["2025-03-26"]
"""What a client speaks that does not say. Source: 2025-11-25, basic/transports, "Protocol Version Header"."""
