"""Convert marshmallow schemas to JSON Schema 2020-12, with apispec."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from marshmallow import Schema, ValidationError, fields
from marshmallow.exceptions import SCHEMA

from coatcheck.workers.toolkit.json_schema import MAX_FAULTS, path_of

_HIDDEN = {"load": "readOnly", "dump": "writeOnly"}
"""The keyword with which apispec marks fields that a direction does not have: dump_only, and load_only."""


def json_schema_of(schema: Schema, direction: Literal["load", "dump"]) -> dict[str, Any]:
    """Return the JSON Schema of what the schema loads or dumps, with nested schemas in `$defs`."""
    plugin = MarshmallowPlugin()
    spec = APISpec(title="", version="", openapi_version="3.1.0", plugins=[plugin])
    converter: Any = plugin.converter
    converter.add_attribute_function(_decimal_as_string)
    converted = converter.schema2jsonschema(schema)
    definitions = spec.to_dict().get("components", {}).get("schemas", {})
    whole = {**converted, "$defs": definitions} if definitions else converted
    plain: dict[str, Any] = _plain(whole, _HIDDEN[direction])
    return plain


def faults_in(error: ValidationError) -> list[str]:
    """Return each message as a line that starts with the path of its field."""
    faults = list(_flat(error.messages, ()))
    return faults if len(faults) <= MAX_FAULTS else [*faults[:MAX_FAULTS], "and more"]


def _plain(node: object, hidden: str) -> Any:
    """Return the schema with local references, and without the properties of the other direction."""
    if isinstance(node, list):
        return [_plain(item, hidden) for item in node]
    if not isinstance(node, Mapping):
        return node
    plain = {key: _plain(value, hidden) for key, value in node.items()}
    if isinstance(reference := plain.get("$ref"), str):
        plain["$ref"] = reference.replace("#/components/schemas/", "#/$defs/")
    properties = plain.get("properties")
    if plain.get("type") == "object" and isinstance(properties, dict):
        gone = {name for name, prop in properties.items() if isinstance(prop, dict) and prop.get(hidden) is True}
        plain["properties"] = {name: prop for name, prop in properties.items() if name not in gone}
        if "required" in plain:
            plain["required"] = [name for name in plain["required"] if name not in gone]
    return plain


def _decimal_as_string(_converter: Any, field: fields.Field[Any], **_: Any) -> dict[str, Any]:
    """Declare a Decimal that is dumped as a string as a string; apispec declares every Decimal as a number."""
    if not (isinstance(field, fields.Decimal) and field.as_string):
        return {}
    return {"type": ["string", "null"] if field.allow_none else "string"}


def _flat(messages: Any, place: tuple[str | int, ...]) -> list[str]:
    if isinstance(messages, Mapping):
        return [
            line for key, inner in messages.items() for line in _flat(inner, place if key == SCHEMA else (*place, key))
        ]
    reasons = messages if isinstance(messages, list) else [messages]
    return [f"{path_of(place, root='arguments')}: {reason}" for reason in reasons]
