"""Make the restricted schemas of elicitation forms from Python types.

Source: client/elicitation, "Requested Schema".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter
from pydantic.errors import PydanticUserError

from coatcheck.workers.toolkit.errors import InvalidRequest
from coatcheck.workers.toolkit.json_schema import InvalidSchema, compile_schema, faults_of
from coatcheck.workers.toolkit.jsonable import jsonable
from coatcheck.workers.toolkit.secret_words import (
    description_sounds_secret,
    label_sounds_secret,
    message_asks_for_secret,
)

_DESCRIBING = frozenset({"type", "title", "description", "default"})

_KEYWORDS: Final = {
    "string": _DESCRIBING | {"minLength", "maxLength", "format"},
    "number": _DESCRIBING | {"minimum", "maximum"},
    "integer": _DESCRIBING | {"minimum", "maximum"},
    "boolean": _DESCRIBING,
    "array": _DESCRIBING | {"minItems", "maxItems", "items"},
}
"""The keywords that a property of each type can have."""

_FORMATS = ("date", "date-time", "email", "uri")

_ROOT_KEYWORDS = frozenset({"$schema", "$defs", "type", "title", "description", "properties", "required"})

_HINTS: Final = {
    "pattern": "check it in validate=",
    "exclusiveMinimum": "use minimum (ge=)",
    "exclusiveMaximum": "use maximum (le=)",
    "uniqueItems": "ask for a list, not a set",
    "enumNames": "use oneOf with const and title",
}


def form_schema(schema: object) -> dict[str, Any]:
    """Return the schema of the form as the specification allows it: a flat object of primitive properties.

    `schema` is a pydantic model class, a full JSON Schema with `"type": "object"`, or a mapping from names to types
    or to JSON Schema fragments. A property is required unless its type is Optional or has a default.
    Raises InvalidRequest, naming the property and the reason.
    """
    full = _full_schema(schema)
    if unknown := sorted(set(full) - _ROOT_KEYWORDS - {"additionalProperties"}):
        raise InvalidRequest(f"a form cannot say {', '.join(unknown)}")
    properties, definitions = full.get("properties"), full.get("$defs", {})
    if full.get("type") != "object" or not isinstance(properties, Mapping):
        raise InvalidRequest("a form is an object with properties")
    required = full.get("required", [])
    if unknown := [name for name in required if name not in properties]:
        raise InvalidRequest(f"required names what is not a property: {', '.join(map(str, unknown))}")
    form: dict[str, Any] = {"type": "object", "properties": {}}
    optional = set()
    for name, fragment in properties.items():
        if not isinstance(name, str) or not name:
            raise InvalidRequest(f"a property's name is a non-empty string, not {name!r}")
        if not isinstance(fragment, Mapping):
            raise InvalidRequest(f"{name}: a property is described by an object")
        form["properties"][name], is_optional = _property(name, fragment, definitions)
        if is_optional:
            optional.add(name)
    if required := [name for name in required if name not in optional]:
        form["required"] = required
    return form


def refuse_secret_message(message: str, form: Mapping[str, Any]) -> None:
    """Raise InvalidRequest if the message asks for a secret that a field of the form could take.

    Source: client/elicitation, "User Interaction Model".
    """
    if any(map(_takes_text, form["properties"].values())) and message_asks_for_secret(message):
        raise InvalidRequest("message: a form must not ask for what looks like a secret; use ElicitURL")


def _full_schema(schema: object) -> Mapping[str, Any]:
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        return _schema_of_model(schema)
    if not isinstance(schema, Mapping):
        raise InvalidRequest(f"a form is a mapping or a pydantic model, not {type(schema).__name__}")
    if schema.get("type") == "object":
        return schema
    properties: dict[str, Any] = {}
    definitions: dict[str, Any] = {}
    for name, described in schema.items():
        fragment = dict(described) if isinstance(described, Mapping) else _schema_of_type(name, described)
        definitions |= fragment.pop("$defs", {})
        if isinstance(described, type):
            # The name of a class, such as an Enum, tells a person less than the name of the property.
            fragment.pop("title", None)
        properties[name] = {"title": str(name).replace("_", " ").capitalize()} | fragment
    required = [name for name, fragment in properties.items() if "default" not in fragment]
    return {"type": "object", "properties": properties, "required": required, "$defs": definitions}


def _schema_of_model(model: type[BaseModel]) -> dict[str, Any]:
    """Return the model's schema, with the defaults of default factories, which pydantic omits."""
    schema = model.model_json_schema()
    for name, field in model.model_fields.items():
        described = schema["properties"].get(field.alias or name, {})
        if field.default_factory is not None and not field.default_factory_takes_validated_data:
            described["default"] = jsonable(field.get_default(call_default_factory=True), where=name)
    return schema


def _schema_of_type(name: object, described: Any) -> dict[str, Any]:
    try:
        adapter: TypeAdapter[object] = TypeAdapter(described)
        return adapter.json_schema()
    except (PydanticUserError, TypeError) as error:
        raise InvalidRequest(f"{name}: {described!r} cannot be asked for") from error


def _property(name: str, fragment: Mapping[str, Any], definitions: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the property in the allowed form, and whether it is optional."""
    prop, is_optional = _without_null(_inlined(name, fragment, definitions))
    prop = _inlined(name, prop, definitions)
    if "const" in prop:
        prop["enum"] = [prop.pop("const")]
    kind = prop.get("type")
    allowed = _KEYWORDS.get(kind, frozenset()) if isinstance(kind, str) else frozenset()
    if not allowed:
        raise InvalidRequest(f"{name}: a form asks for strings, numbers, booleans and choices only")
    if kind == "string" and ("enum" in prop or "oneOf" in prop):
        _check_choices(name, prop)
        allowed = _DESCRIBING | {"enum" if "enum" in prop else "oneOf"}
    if kind == "array":
        prop["items"] = _items(name, prop.get("items"), definitions)
    for keyword in sorted(set(prop) - allowed):
        hint = f"; {_HINTS[keyword]}" if keyword in _HINTS else ""
        raise InvalidRequest(f"{name}: a form cannot say {keyword} of a {kind}{hint}")
    if prop.get("format", "date") not in _FORMATS:
        raise InvalidRequest(f"{name}: the format of a form's string is one of {', '.join(_FORMATS)}")
    if _takes_text(prop):
        _refuse_secret(name, prop)
    _check_consistent(name, prop)
    return prop, is_optional


def _inlined(name: str, fragment: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fragment with the target of `$ref` in its place, without the target's title, which is a class name."""
    fragment = dict(fragment)
    if (reference := fragment.pop("$ref", None)) is None:
        return fragment
    target = definitions.get(str(reference).removeprefix("#/$defs/"))
    if not isinstance(target, Mapping) or "$ref" in target:
        raise InvalidRequest(f"{name}: the reference {reference} leads to nothing that a form can ask for")
    return {keyword: value for keyword, value in target.items() if keyword != "title"} | fragment


def _without_null(prop: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return `T | None` as an optional T, since a form cannot send null."""
    branches = prop.get("anyOf")
    if not isinstance(branches, list) or {"type": "null"} not in branches:
        return prop, False
    others = [branch for branch in branches if branch != {"type": "null"}]
    if len(others) != 1:
        return prop, False
    rest = {keyword: value for keyword, value in prop.items() if keyword != "anyOf"}
    if rest.get("default", 0) is None:
        del rest["default"]
    return {**others[0], **rest}, True


def _items(name: str, items: object, definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return the choices of a multiple selection, without the titles that a form cannot have."""
    if not isinstance(items, Mapping):
        raise InvalidRequest(f"{name}: a list in a form is a selection from named choices")
    choices = {k: v for k, v in _inlined(name, items, definitions).items() if k not in ("title", "description")}
    if "const" in choices:
        choices["enum"] = [choices.pop("const")]
    titled = set(choices) == {"anyOf"}
    if not titled and (set(choices) != {"type", "enum"} or choices["type"] != "string"):
        raise InvalidRequest(f"{name}: a list in a form is a selection from named choices")
    _check_choices(name, choices)
    return choices


def _check_choices(name: str, choices: Mapping[str, Any]) -> None:
    values = choices.get("enum")
    if values is None:
        titled = choices.get("oneOf", choices.get("anyOf"))
        if not isinstance(titled, list) or not all(_is_titled_choice(choice) for choice in titled):
            raise InvalidRequest(f"{name}: each titled choice has a const and a title")
        values = [choice["const"] for choice in titled]
    if not isinstance(values, list) or not values or not all(isinstance(value, str) for value in values):
        raise InvalidRequest(f"{name}: the choices of a form are strings, at least one")


def _is_titled_choice(choice: object) -> bool:
    return isinstance(choice, Mapping) and set(choice) == {"const", "title"} and isinstance(choice["title"], str)


def _check_consistent(name: str, prop: Mapping[str, Any]) -> None:
    try:
        validator = compile_schema(prop, formats=True)
    except InvalidSchema as error:
        raise InvalidRequest(f"{name}: {error}") from error
    if "default" in prop and (faults := faults_of(validator, prop["default"], root="its default")):
        raise InvalidRequest(f"{name}: {'; '.join(faults)}")


def _takes_text(prop: Mapping[str, Any]) -> bool:
    """Return whether the field takes free text: no choice and no format."""
    is_chosen = not {"enum", "oneOf"}.isdisjoint(prop)
    is_date = prop.get("format") in ("date", "date-time")
    return prop["type"] in ("string", "number", "integer") and not is_chosen and not is_date


def _refuse_secret(name: str, prop: Mapping[str, Any]) -> None:
    """Raise InvalidRequest if the field asks for a secret, which must not pass through the client.

    Source: client/elicitation, "User Interaction Model": servers must not use forms for them.
    """
    said = next((label for label in (name, str(prop.get("title", ""))) if label_sounds_secret(label)), "")
    if not said and description_sounds_secret(description := str(prop.get("description", ""))):
        said = description
    if said:
        raise InvalidRequest(f"{name}: a form must not ask for what looks like a secret ({said}); use ElicitURL")
