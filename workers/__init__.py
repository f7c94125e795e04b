"""Tools and the jobs that run them: what the author of a tool imports."""

from workers.content import Audio, EmbeddedResource, Image, ResourceLink, Text, ToolResult
from workers.context import Context
from workers.errors import Cancelled, MissingCapability, ProtocolError, ToolError
from workers.expose import expose
from workers.headers import Header
from workers.inputs import Answer, Elicit, ElicitURL, Roots, Sample
from workers.tool import tool

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
    "expose",
    "tool",
]
