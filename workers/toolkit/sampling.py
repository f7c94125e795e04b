"""Check messages to and from a client's model.

Source: schema, SamplingMessage and CreateMessageResult.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from coatcheck.workers.toolkit.json_schema import type_name

_BLOCK_FIELDS: Final[Mapping[str, Mapping[str, type]]] = {
    "text": {"text": str},
    "image": {"data": str, "mimeType": str},
    "audio": {"data": str, "mimeType": str},
    "tool_use": {"id": str, "name": str, "input": dict},
    "tool_result": {"toolUseId": str, "content": list},
}
"""The required fields of each kind of content block."""


def message_faults(message: object, at: str) -> list[str]:
    """Return the faults of a message's role and content, one line each; `at` is the prefix of every path."""
    if not isinstance(message, Mapping):
        return [f"{at}message: is an object"]
    faults = [] if message.get("role") in ("user", "assistant") else [f"{at}role: is user or assistant"]
    if not isinstance(message.get("content"), Mapping | list):
        return [*faults, f"{at}content: is a content block or an array of them"]
    for block in blocks_of(message["content"]):
        fields = _BLOCK_FIELDS.get(str(block.get("type"))) if isinstance(block, Mapping) else None
        if fields is None:
            faults.append(f"{at}content: the type of a block is one of {', '.join(_BLOCK_FIELDS)}")
            continue
        faults.extend(
            f"{at}content.{name}: is {type_name(expected())}"
            for name, expected in fields.items()
            if not isinstance(block.get(name), expected)
        )
    return list(dict.fromkeys(faults))


def blocks_of(content: Any) -> list[Any]:
    """Return the content blocks as a list, also if there is a single one without a list."""
    return content if isinstance(content, list) else [content]
