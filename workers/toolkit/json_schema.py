"""Compile JSON Schemas, and describe faults as lines that name a place and a reason, never a value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import jsonschema_rs
import orjson

_JSON_TYPES = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a number",
    type(None): "null",
}

MAX_FAULTS = 20
"""Faults that are reported for one value; a hostile value can have one for each byte."""

MAX_NAME_LENGTH = 80
"""Characters of a property name that are repeated; the client chooses unexpected names, of any length."""

_COMPILED_SCHEMAS = 512
"""Compiled schemas that a process caches, a few kB each; an input can have a schema made for one task."""


class InvalidSchema(ValueError):
    """A schema that cannot be compiled; the message says why."""


def compile_schema(schema: Mapping[str, Any], *, formats: bool = False) -> jsonschema_rs.Validator:
    """Compile the schema for its own `$schema`, 2020-12 by default, without fetching anything.

    `formats` makes `format` an assertion; by default it is an annotation, as 2020-12 has it.
    Raises InvalidSchema.
    """
    try:
        # Offline, because a `$ref` to another host would make each process depend on it, and allows request forgery.
        return jsonschema_rs.validator_for(dict(schema), validate_formats=formats, mask="the value", offline=True)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as error:
        place = path_of(getattr(error, "instance_path", ()))
        raise InvalidSchema(f"{place}: {_plain(error)}" if place else error.message) from error
    except ValueError as error:
        raise InvalidSchema(str(error)) from error


def compiled(schema: Mapping[str, Any], *, formats: bool = False) -> jsonschema_rs.Validator:
    """Return the compiled schema from a cache, as `compile_schema` makes it."""
    return _compiled(orjson.dumps(schema, option=orjson.OPT_SORT_KEYS), formats)


@lru_cache(maxsize=_COMPILED_SCHEMAS)
def _compiled(canonical: bytes, formats: bool) -> jsonschema_rs.Validator:
    return compile_schema(orjson.loads(canonical), formats=formats)


def faults_of(validator: jsonschema_rs.Validator, value: Any, *, root: str, tells_type: bool = False) -> list[str]:
    """Return each fault of the value as one line, in a stable order.

    A line is `path: reason`; `root` names the value itself. With `tells_type`, a fault of a wrong type also names the
    type that the value has.
    """
    faults: list[str] = []
    for error in validator.iter_errors(value):
        came = f", but {type_name(error.instance)}" if tells_type and _is_of_wrong_type(error) else ""
        faults.extend(line for line in (f"{line}{came}" for line in _lines(error, root)) if line not in faults)
        if len(faults) > MAX_FAULTS:
            return [*faults[:MAX_FAULTS], "and more"]
    return faults


def path_of(place: Sequence[str | int], *, root: str = "") -> str:
    """Return a path such as `rows[3].price`, or `root` for the value itself."""
    path = ""
    for part in place:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            name = part if len(part) <= MAX_NAME_LENGTH else part[:MAX_NAME_LENGTH] + "…"
            path += f".{name}" if path else name
    return path or root


def type_name(value: object) -> str:
    """Return JSON's name for the type of a parsed value, with its article."""
    return _JSON_TYPES.get(type(value), type(value).__name__)


def _is_of_wrong_type(error: jsonschema_rs.ValidationError) -> bool:
    """Return whether the value has none of the types that its schema names, alone or as alternatives."""
    kind = error.kind
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.AnyOf | jsonschema_rs.ValidationErrorKind.OneOfNotValid):
        return all(_is_of_wrong_type(inner) for branch in kind.context for inner in branch[:1])
    return isinstance(kind, jsonschema_rs.ValidationErrorKind.Type)


def _lines(error: jsonschema_rs.ValidationError, root: str) -> Iterator[str]:
    place, kind = error.instance_path, error.kind
    if isinstance(kind, jsonschema_rs.ValidationErrorKind.Required):
        yield f"{path_of([*place, kind.property])}: is required"
    elif isinstance(kind, jsonschema_rs.ValidationErrorKind.AdditionalProperties):
        for name in kind.unexpected[:MAX_FAULTS]:
            yield f"{path_of([*place, name])}: is not known here"
    elif isinstance(kind, jsonschema_rs.ValidationErrorKind.AnyOf | jsonschema_rs.ValidationErrorKind.OneOfNotValid):
        branches = [branch for branch in kind.context if branch]
        reasons = [" and ".join(_reason(inner, place) for inner in branch[:MAX_FAULTS]) for branch in branches]
        yield f"{path_of(place, root=root)}: {', or '.join(dict.fromkeys(reasons)) or error.message}"
    else:
        yield f"{path_of(place, root=root)}: {_plain(error)}"


def _reason(error: jsonschema_rs.ValidationError, place: Sequence[str | int]) -> str:
    deeper = path_of(error.instance_path[len(place) :])
    return f"{deeper} {_plain(error)}" if deeper else _plain(error)


def _plain(error: jsonschema_rs.ValidationError | jsonschema_rs.ReferencingError) -> str:
    return error.message.removeprefix("the value ").replace('"', "'")
