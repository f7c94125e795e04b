"""Convert Python values to JSON types.

| Python | JSON |
| --- | --- |
| None, bool, int, float, str | itself |
| Enum | its value |
| Decimal, UUID | a string, so that no digit is lost |
| date, time, datetime | an ISO 8601 string |
| timedelta | an ISO 8601 duration |
| bytes | a base64 string |
| list, tuple | an array |
| dict, another Mapping, dataclass | an object |
| pydantic model | what its own serialisation gives |

Not accepted: NaN and infinities, lone surrogates, integers beyond 64 bits, keys that are not strings, cycles, sets
(which have no stable order), iterators, and any other object.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Any, Final
from uuid import UUID

from pydantic import BaseModel, TypeAdapter

from coatcheck.workers.toolkit.errors import UnsendableValue

MAX_INTEGER: Final = 2**63 - 1
"""Many JSON readers do not read larger integers exactly."""

MAX_DEPTH: Final = 100
"""Levels of nesting. Many readers, such as the official Python client, stop at 127, and the envelope needs a few."""

_DURATION: Final = TypeAdapter(timedelta)


def jsonable(value: object, *, where: str = "result", decimal: Callable[[Decimal], object] = str) -> Any:
    """Return the value as JSON types, sharing no mutable part with the original.

    `where` names the value in errors; `decimal` converts a Decimal. Raises UnsendableValue.
    """
    return _Walk(decimal).plain(value, where, 0)


class _Walk:
    """Converts one value. Keeps the enclosing containers, to find cycles."""

    def __init__(self, decimal: Callable[[Decimal], object]) -> None:
        self._decimal = decimal
        self._inside: set[int] = set()

    def plain(self, value: object, where: str, depth: int) -> object:
        """Return the value as JSON types. Exact types are checked first, because most values have one."""
        match value:
            case None | bool():
                return value
            case Enum():
                return self.plain(value.value, where, depth)
            case str():
                return _text(value, where)
            case int():
                if abs(value) > MAX_INTEGER:
                    raise UnsendableValue(where, "the integer needs more than 64 bits")
                return int(value)
            case float():
                return _finite(float(value), where)
            case Decimal():
                if not value.is_finite():
                    raise UnsendableValue(where, f"JSON has no {value}")
                return self._decimal(value)
            case datetime() | date() | time():
                return value.isoformat()
            case timedelta():
                return _DURATION.dump_python(value, mode="json")
            case UUID():
                return str(value)
            case bytes() | bytearray():
                return base64.b64encode(value).decode("ascii")
        return self._container(value, where, depth)

    def _container(self, value: object, where: str, depth: int) -> object:
        if id(value) in self._inside:
            raise UnsendableValue(where, "it contains itself")
        if depth >= MAX_DEPTH:
            raise UnsendableValue(f"{where[:60]}…", f"it is nested more than {MAX_DEPTH} levels deep")
        self._inside.add(id(value))
        try:
            match value:
                case list() | tuple():
                    return [self.plain(item, f"{where}[{n}]", depth + 1) for n, item in enumerate(value)]
                case Mapping():
                    return {
                        _key(key, where): self.plain(item, f"{where}.{key}", depth + 1) for key, item in value.items()
                    }
                case BaseModel():
                    return self.plain(serialised(partial(value.model_dump, by_alias=True), where), where, depth + 1)
            if is_dataclass(value) and not isinstance(value, type):
                members = [field.name for field in fields(value)]
                return {name: self.plain(getattr(value, name), f"{where}.{name}", depth + 1) for name in members}
        finally:
            self._inside.discard(id(value))
        hint = "; return a sorted list" if isinstance(value, set | frozenset) else ""
        raise UnsendableValue(where, f"JSON has no form for {type(value).__name__}{hint}")


def _text(value: str, where: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise UnsendableValue(where, "it holds a lone surrogate, which is not a character") from error
    return value if type(value) is str else str.__str__(value)


def _finite(value: float, where: str) -> float:
    if not math.isfinite(value):
        raise UnsendableValue(where, f"JSON has no {value}")
    return value


def _key(key: object, where: str) -> str:
    if isinstance(key, Enum):
        key = key.value
    if not isinstance(key, str):
        raise UnsendableValue(where, f"a key is {type(key).__name__}, and JSON's keys are strings")
    return _text(key, f"a key of {where}")


def serialised(dump: Callable[..., Any], where: str) -> Any:
    """Return pydantic's serialisation in JSON mode; `dump` is a bound `model_dump` or `dump_python`.

    Raises UnsendableValue, also for NaN and infinities, which pydantic would convert to null.
    """
    try:
        _refuse_non_finite(dump(mode="python"), where)
        return dump(mode="json")
    except (ValueError, AttributeError) as error:
        # AttributeError: an instance of another dataclass, of which pydantic reads the declared one's fields.
        raise UnsendableValue(where, "its type cannot serialise it") from error


def _refuse_non_finite(value: object, where: str) -> None:
    match value:
        case float():
            _finite(value, where)
        case dict():
            for key, item in value.items():
                _refuse_non_finite(item, f"{where}.{key}")
        case list() | tuple() | set() | frozenset():
            for n, item in enumerate(value):
                _refuse_non_finite(item, f"{where}[{n}]")
