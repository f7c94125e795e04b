"""Make the bytes of a CallToolResult, which are stored and sent.

The first row that applies decides:

| returned | content | structuredContent |
| --- | --- | --- |
| ToolResult | its content; without any, the structured content as text | its structured content |
| any value, if an output schema is declared | the structured content as text | the value, checked against the schema |
| str | a text block | |
| None | empty | |
| a content block, or a list with one (strings in it are text blocks) | these blocks | |
| any other value | the structured content as compact JSON text | the value, converted by `jsonable` |

Source: server/tools, "Tool Result", "Structured Content" and "Output Schema".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson

from coatcheck.workers.toolkit.content import Content, Text, ToolResult
from coatcheck.workers.toolkit.errors import ResultTooLarge, UnsendableValue
from coatcheck.workers.toolkit.jsonable import jsonable
from coatcheck.workers.toolkit.schemas import Output
from coatcheck.workers.toolkit.texts import sendable

SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
"""`_meta` key of every result. Source: basic, "Server information"."""


def completed(value: object, output: Output, *, server_info: Mapping[str, str], max_bytes: int) -> bytes:
    """Return the result of a tool that returned `value`.

    Raises UnsendableValue (ResultTooLarge beyond `max_bytes`), whose message can be passed to `tool_error`, and
    OutputMismatch when the value does not match the tool's output schema.
    """
    return _encoded(_result(value, output), server_info, max_bytes)


def tool_error(message: object, structured: object = None, *, server_info: Mapping[str, str], max_bytes: int) -> bytes:
    """Return an `isError` result, which can always be sent.

    A message that is too long is cut, and structured content that cannot be sent is omitted; the text says so.
    """
    message = sendable(message)
    if structured is not None:
        try:
            told = {**_texts(message), "structuredContent": jsonable(structured, where="structured"), "isError": True}
            return _encoded(told, server_info, max_bytes)
        except UnsendableValue as error:
            message = f"{message}\n(The details are left out: {sendable(error)})"
    return orjson.dumps(_whole({**_texts(message), "isError": True}, server_info))


def _result(value: object, output: Output) -> dict[str, Any]:
    if isinstance(value, ToolResult):
        return _told(value, output)
    if output.schema is None:
        if value is None:
            return {"content": [], "isError": False}
        if isinstance(value, str):
            return {**_texts(jsonable(value)), "isError": False}
        if (blocks := _shown(value)) is not None:
            return {"content": _wire(blocks), "isError": False}
    structured = output.dump(value)
    return {**_texts(_text_of(structured)), "structuredContent": structured, "isError": False}


def _told(result: ToolResult, output: Output) -> dict[str, Any]:
    told: dict[str, Any] = {"content": _wire(result.content), "isError": result.is_error}
    if output.schema is not None and not result.is_error:
        told["structuredContent"] = output.dump(result.structured)
    elif result.structured is not None:
        told["structuredContent"] = jsonable(result.structured, where="structured")
    if "structuredContent" in told and not told["content"]:
        told |= _texts(_text_of(told["structuredContent"]))
    return told


def _shown(value: object) -> Sequence[Content | str] | None:
    """Return the content blocks of a value that is content, or None if it is data."""
    if isinstance(value, Content):
        return [value]
    if isinstance(value, list | tuple) and any(isinstance(item, Content) for item in value):
        return value
    return None


def _wire(blocks: Sequence[Content | str]) -> list[Any]:
    sent = []
    for n, block in enumerate(blocks):
        where = f"content[{n}]"
        if not isinstance(block, Content | str):
            raise UnsendableValue(where, f"{type(block).__name__} is neither a content block nor a string")
        sent.append(jsonable((Text(block) if isinstance(block, str) else block).to_wire(), where=where))
    return sent


def _texts(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def _text_of(structured: object) -> str:
    return structured if isinstance(structured, str) else orjson.dumps(structured).decode()


def _encoded(result: Mapping[str, Any], server_info: Mapping[str, str], max_bytes: int) -> bytes:
    encoded = orjson.dumps(_whole(result, server_info))
    if len(encoded) > max_bytes:
        raise ResultTooLarge(len(encoded), max_bytes)
    return encoded


def _whole(result: Mapping[str, Any], server_info: Mapping[str, str]) -> dict[str, Any]:
    return {"resultType": "complete", **result, "_meta": {SERVER_INFO: dict(server_info)}}
