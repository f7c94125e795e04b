"""The content blocks of a tool's result.

Source: server/tools, "Tool Result".
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Content:
    """The base class of content blocks.

    `annotations` (`audience`, `priority`, `lastModified`) and `meta` are sent unchanged.
    """

    annotations: Mapping[str, Any] | None = None
    meta: Mapping[str, Any] | None = None

    def to_wire(self) -> dict[str, Any]:
        """Return the block as it is sent."""
        return _present({**self._fields(), "annotations": self.annotations, "_meta": self.meta})

    def _fields(self) -> dict[str, Any]:
        raise NotImplementedError


@dataclass(frozen=True)
class Text(Content):
    """Text, which can be Markdown."""

    text: str

    def _fields(self) -> dict[str, Any]:
        return {"type": "text", "text": self.text}


@dataclass(frozen=True)
class Image(Content):
    """An image, such as `Image(png, "image/png")`."""

    data: bytes
    mime_type: str

    def _fields(self) -> dict[str, Any]:
        return {"type": "image", "data": _base64(self.data), "mimeType": self.mime_type}


@dataclass(frozen=True)
class Audio(Content):
    """A sound, such as `Audio(wav, "audio/wav")`."""

    data: bytes
    mime_type: str

    def _fields(self) -> dict[str, Any]:
        return {"type": "audio", "data": _base64(self.data), "mimeType": self.mime_type}


@dataclass(frozen=True)
class ResourceLink(Content):
    """A link to a resource that the client can fetch; `size` is in bytes."""

    uri: str
    name: str
    title: str | None = None
    description: str | None = None
    mime_type: str | None = None
    size: int | None = None

    def _fields(self) -> dict[str, Any]:
        return {
            "type": "resource_link",
            "uri": self.uri,
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "mimeType": self.mime_type,
            "size": self.size,
        }


@dataclass(frozen=True)
class EmbeddedResource(Content):
    """A resource with its content, which is either `text` or `blob`."""

    uri: str
    text: str | None = None
    blob: bytes | None = None
    mime_type: str | None = None

    def __post_init__(self) -> None:
        """Raise ValueError unless there is exactly one of text and blob."""
        if (self.text is None) == (self.blob is None):
            raise ValueError("an embedded resource has either a text or a blob")

    def _fields(self) -> dict[str, Any]:
        blob = None if self.blob is None else _base64(self.blob)
        resource = {"uri": self.uri, "mimeType": self.mime_type, "text": self.text, "blob": blob}
        return {"type": "resource", "resource": _present(resource)}


@dataclass(frozen=True)
class ToolResult:
    """A complete result: content, structured content, and whether it is an error.

    `structured` is omitted when it is None, unless the tool declares an output schema. A string in `content` is sent as
    a text block.
    """

    content: Sequence[Content | str] = field(default_factory=list)
    structured: object = None
    is_error: bool = False


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _present(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
