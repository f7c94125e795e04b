"""Tool parameters that are mirrored in HTTP headers, by the annotation `x-mcp-header`.

Source: basic/transports/streamable-http, "Custom Headers from Tool Parameters".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from coatcheck.workers.toolkit.errors import ToolDefinitionError

KEYWORD: Final = "x-mcp-header"
"""The schema keyword; its value is the part of the header's name after `Mcp-Param-`."""

_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
"""A field name. Source: RFC 9110, section 5.1."""

_TYPES = ("string", "integer", "boolean")

_HOLDS_DATA = frozenset({"default", "const", "enum", "examples", "required", "dependentRequired", "type"})
"""Keywords whose value is not a schema and so contains no annotation."""

_HOLDS_NAMED_SCHEMAS = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})


@dataclass(frozen=True, slots=True)
class Header:
    """Mirrors a parameter in the header `Mcp-Param-<name>`: `region: Annotated[str, Header("Region")]`."""

    name: str

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Add the annotation to the parameter's schema."""
        return {**handler(schema), KEYWORD: self.name}


@dataclass(frozen=True, slots=True)
class HeaderParam:
    """An argument that must also be sent as a header when it is given."""

    name: str
    """As annotated. The header is `Mcp-Param-<name>`; case is ignored."""
    path: tuple[str, ...]
    """The path of the argument in `arguments`."""
    type: Literal["string", "integer", "boolean"]


def header_params(tool: str, schema: Mapping[str, Any]) -> tuple[HeaderParam, ...]:
    """Return every annotated parameter, in the schema's order.

    Raises ToolDefinitionError for an annotation that breaks a rule.
    """
    found: dict[str, HeaderParam] = {}
    for path, annotated in _annotated(schema, ()):
        if not path:
            raise ToolDefinitionError(tool, f"{KEYWORD} stands where properties alone do not lead")
        where, name, kind = ".".join(path), annotated[KEYWORD], annotated.get("type")
        if not isinstance(name, str) or not _TOKEN.fullmatch(name):
            raise ToolDefinitionError(tool, f"{where}: {KEYWORD} is not a header name: {name!r}")
        if kind not in _TYPES:
            raise ToolDefinitionError(tool, f"{where}: {KEYWORD} is for parameters of type {', '.join(_TYPES)} only")
        if other := found.get(name.lower()):
            raise ToolDefinitionError(tool, f"{where}: {KEYWORD} {name} is taken by {'.'.join(other.path)}")
        found[name.lower()] = HeaderParam(name, path, cast('Literal["string", "integer", "boolean"]', kind))
    return tuple(found.values())


def _annotated(schema: Mapping[str, Any], path: tuple[str, ...] | None) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    """Yield each annotated schema with its path, or with None if it is reached by other keywords than `properties`."""
    if KEYWORD in schema:
        yield path, schema
    for keyword, value in schema.items():
        if keyword in _HOLDS_NAMED_SCHEMAS and isinstance(value, Mapping):
            for name, inner in value.items():
                if isinstance(inner, Mapping):
                    is_reachable = keyword == "properties" and path is not None
                    yield from _annotated(inner, (*path, name) if is_reachable and path is not None else None)
        elif keyword not in _HOLDS_DATA:
            for inner in value if isinstance(value, list) else [value]:
                if isinstance(inner, Mapping):
                    yield from _annotated(inner, None)
