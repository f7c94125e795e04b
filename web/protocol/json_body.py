"""Parse JSON strictly, so that two parsers cannot read one body as two different requests."""

import json
import math
import re
from typing import Any, Final, NoReturn

from coatcheck.web.errors import MalformedJson

MAX_DEPTH: Final = 100
"""Levels of nested arrays and objects."""

MAX_SAFE_DIGITS: Final = 300
"""Digits of an integer that fits a double, possibly rounded; a longer one can overflow."""

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_json(body: bytes) -> object:
    """Parse the body and return its value.

    Raises:
        MalformedJson: invalid UTF-8 or JSON, a member named twice, a number that is none (NaN, Infinity) or too long to
            read, half a surrogate pair, or nesting deeper than MAX_DEPTH.
    """
    try:
        text = body.decode("utf-8")
        value: object = json.loads(
            text, object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_integer
        )
    except RecursionError as fault:
        raise MalformedJson("The body is nested too deeply") from fault
    except UnicodeDecodeError as fault:
        raise MalformedJson("The body is not valid UTF-8") from fault
    except json.JSONDecodeError as fault:
        raise MalformedJson(f"The body is not valid JSON: {fault.msg} at character {fault.pos}") from fault
    except ValueError as fault:
        raise MalformedJson("The body holds a number that is too long to read") from fault
    # Most bodies have fewer brackets than levels are allowed, and no escaped surrogates: nothing to walk through.
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _check_depth(value)
    if _SURROGATE.search(text):
        _check_surrogates(value)
    return value


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise MalformedJson("The body has an object with the same member twice")
    return found


def _refuse_constant(_name: str) -> NoReturn:
    raise MalformedJson("The body is not valid JSON: NaN and Infinity are not numbers")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise MalformedJson("The body holds a number that is too large to read")
    return number


def _integer(text: str) -> int:
    number = int(text)
    if len(text) > MAX_SAFE_DIGITS:
        _finite(text)  # a reader that has doubles only would see infinity
    return number


def _check_depth(value: object) -> None:
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [outer for outer in level if isinstance(outer, dict | list)]
        if not level:
            return
        level = [inner for outer in level for inner in (outer.values() if isinstance(outer, dict) else outer)]
    raise MalformedJson("The body is nested too deeply")


def _check_surrogates(value: object) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as fault:
        raise MalformedJson("The body holds half a surrogate pair, which is not a character") from fault
