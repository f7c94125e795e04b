"""Encode results of steps as JSON, and decode them to the same values in a later run."""

import inspect
import sys
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any, get_type_hints

import orjson
from pydantic import BaseModel, PydanticSchemaGenerationError, PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from coatcheck.workers.toolkit.errors import StepTooLarge, UnsendableValue
from coatcheck.workers.toolkit.jsonable import jsonable


def encode(step: str, value: object, function: Callable[..., Any], max_bytes: int) -> bytes:
    """Return the value as JSON, with its type if the function does not declare one.

    Raises:
        UnsendableValue: the value cannot be represented in JSON.
        StepTooLarge: the JSON is larger than `max_bytes`.
    """
    adapter = _declared(function)
    kind = "" if adapter else _kind_of(value)
    adapter = adapter or (_named(kind) if kind else None)
    where = f"the result of step {step!r}"
    try:
        plain = adapter.dump_python(value, mode="json", warnings="error") if adapter else value
    except (PydanticSerializationError, ValueError) as fault:
        raise UnsendableValue(where, "it is not what its function declares to return") from fault
    text = orjson.dumps({"kind": kind, "value": jsonable(plain, where=where)})
    if len(text) > max_bytes:
        raise StepTooLarge(step, len(text), max_bytes)
    return text


def decode(text: bytes, function: Callable[..., Any]) -> Any:
    """Return the encoded value, as the type that the function declares now, or as its stored type.

    Raises:
        ValueError: the stored value no longer matches the type.
    """
    kept = orjson.loads(text)
    adapter = _declared(function) or (_named(kept["kind"]) if kept["kind"] else None)
    if adapter is None:
        return kept["value"]
    try:
        return adapter.validate_json(orjson.dumps(kept["value"]))
    except ValidationError as fault:
        raise ValueError("the kept result no longer fits the type of the step") from fault


@lru_cache(maxsize=512)
def _declared(function: Callable[..., Any]) -> TypeAdapter[Any] | None:
    """Return an adapter for the function's declared return type, or None if there is none for JSON."""
    target = inspect.unwrap(function)
    try:
        declared = get_type_hints(target, include_extras=True).get("return", Any)
    except (NameError, TypeError):
        return None
    if declared is Any:
        return None
    try:
        return TypeAdapter(declared)
    except (PydanticSchemaGenerationError, PydanticUserError):
        return None


def _kind_of(value: object) -> str:
    """Return `module:qualname` of a dataclass or pydantic model; empty for other values."""
    cls = type(value)
    if (isinstance(value, BaseModel) or is_dataclass(value)) and "<locals>" not in cls.__qualname__:
        return f"{cls.__module__}:{cls.__qualname__}"
    return ""


@lru_cache(maxsize=512)
def _named(kind: str) -> TypeAdapter[Any]:
    module_name, _, path = kind.partition(":")
    try:
        found: Any = sys.modules.get(module_name) or import_module(module_name)
        for name in path.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError) as fault:
        raise ValueError(f"the type of a kept result, {kind}, is no longer there") from fault
    return TypeAdapter(found)
