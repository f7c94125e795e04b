"""An MCP server that runs Celery tasks as durable tools. Here is what the author of a tool imports."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coatcheck.workers.install import install
    from coatcheck.workers.runs.context import Context
    from coatcheck.workers.runs.trial import Trial, try_tool
    from coatcheck.workers.toolkit.content import Audio, EmbeddedResource, Image, ResourceLink, Text, ToolResult
    from coatcheck.workers.toolkit.errors import Cancelled, MissingCapability, ProtocolError, ToolError
    from coatcheck.workers.toolkit.expose import expose
    from coatcheck.workers.toolkit.header_params import Header
    from coatcheck.workers.toolkit.inputs import Answer, Elicit, ElicitURL, Roots, Sample
    from coatcheck.workers.toolkit.tool import tool

__all__ = [
    "Answer",
    "Audio",
    "Cancelled",
    "Context",
    "Elicit",
    "ElicitURL",
    "EmbeddedResource",
    "Header",
    "Image",
    "MissingCapability",
    "ProtocolError",
    "ResourceLink",
    "Roots",
    "Sample",
    "Text",
    "ToolError",
    "ToolResult",
    "Trial",
    "expose",
    "install",
    "tool",
    "try_tool",
]

_MODULES = {
    "coatcheck.workers.install": ("install",),
    "coatcheck.workers.runs.context": ("Context",),
    "coatcheck.workers.runs.trial": ("Trial", "try_tool"),
    "coatcheck.workers.toolkit.content": ("Audio", "EmbeddedResource", "Image", "ResourceLink", "Text", "ToolResult"),
    "coatcheck.workers.toolkit.errors": ("Cancelled", "MissingCapability", "ProtocolError", "ToolError"),
    "coatcheck.workers.toolkit.expose": ("expose",),
    "coatcheck.workers.toolkit.header_params": ("Header",),
    "coatcheck.workers.toolkit.inputs": ("Answer", "Elicit", "ElicitURL", "Roots", "Sample"),
    "coatcheck.workers.toolkit.tool": ("tool",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import the name from its module when it is first used: the client shares this package and needs none of it."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'coatcheck' has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)
