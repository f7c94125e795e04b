"""The arguments of a call, as they are typed. Pure, but for files and standard input."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from coatcheck.client.errors import InvalidArguments
from coatcheck.client.strict_json import NotCarried, NotJson, read_json

_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "array": list,
    "object": dict,
    "null": type(None),
}


def read_object(text: str) -> dict[str, Any]:
    """The JSON object that was typed, or that standard input holds when it was `-`. Raises InvalidArguments."""
    try:
        value = read_json(sys.stdin.read() if text == "-" else text)
    except UnicodeDecodeError as fault:
        raise InvalidArguments("The arguments on standard input are not UTF-8 text.") from fault
    except NotCarried as fault:
        raise InvalidArguments(f"The arguments cannot be sent: {fault}.") from fault
    except NotJson as fault:
        raise InvalidArguments(f"The arguments are not JSON: {fault}.") from fault
    if not isinstance(value, dict):
        raise InvalidArguments('The arguments are a JSON object, such as {"source": "sales"}.')
    return value


def read_pairs(pairs: Sequence[str], schema: Mapping[str, Any]) -> dict[str, Any]:
    """`name=value` for each argument, the value as the tool's schema wants it; `name=@file` takes it from a file.

    Raises InvalidArguments, naming the argument.
    """
    properties: Mapping[str, Any] = schema.get("properties", {})
    arguments: dict[str, Any] = {}
    for pair in pairs:
        name, separator, text = pair.partition("=")
        if not separator or not name:
            raise InvalidArguments(f"{pair!r} is not name=value.")
        if text.startswith("@"):
            text = _file(name, Path(text[1:]))
        if name in arguments:
            raise InvalidArguments(f"{name} is given twice; an argument has one value.")
        arguments[name] = _value(name, text, _types_of(properties.get(name)))
    return arguments


def _value(name: str, text: str, types: frozenset[str]) -> Any:
    if types == {"string"}:
        return text
    try:
        value = read_json(text)
    except NotCarried as fault:
        if "string" not in types:
            raise InvalidArguments(f"{name}: {fault}.") from fault
        value = text
    except NotJson:
        value = text
    if not types or any(_is_of(value, kind) for kind in types):
        return value
    if "string" in types:
        return text
    raise InvalidArguments(f"{name} is {' or '.join(sorted(types))}, not {text!r}.")


def _is_of(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES.get(kind, ()))


def _types_of(rules: Any) -> frozenset[str]:
    """The JSON types that an argument may have; empty when the schema does not say it in so many words."""
    if not isinstance(rules, dict):
        return frozenset()
    if isinstance(named := rules.get("type"), str):
        return frozenset({named})
    if isinstance(named, list):
        return frozenset(map(str, named))
    if isinstance(values := rules.get("enum"), list) and all(isinstance(value, str) for value in values):
        return frozenset({"string"})
    branches = rules.get("anyOf") or rules.get("oneOf") or ()
    types = [_types_of(branch) for branch in branches]
    return frozenset().union(*types) if all(types) else frozenset()


def _file(name: str, path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as fault:
        raise InvalidArguments(f"{name}: {path} cannot be read: {fault.strerror}.") from fault
    except UnicodeDecodeError as fault:
        raise InvalidArguments(f"{name}: {path} is not UTF-8 text.") from fault
