"""Reads JSON as strictly as a Coatcheck server does, so that what it would refuse is told before it is sent. Pure."""

import json
import math
from typing import Any, NoReturn


class NotJson(ValueError):
    """The text is no JSON; the message says why, and how it was meant cannot be known."""


class NotCarried(NotJson):
    """The text is written like JSON, and holds what JSON has no value for, or what two readers would read as two."""


def read_json(text: str) -> Any:
    """The value that the text holds.

    Raises:
        NotJson: it is not JSON, or nested too deeply to be read.
        NotCarried: it has NaN, Infinity, a number too long to read, half a surrogate pair, or a member named twice.
    """
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_constant, parse_float=_finite)
        json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as fault:
        raise NotJson(str(fault)) from None  # its cause would carry the text, which may hold a secret
    except RecursionError:
        raise NotJson("it is nested too deeply") from None
    except UnicodeEncodeError:
        raise NotCarried("half a surrogate pair is not a character") from None
    except NotCarried:
        raise
    except ValueError:
        raise NotCarried("a number is too long to read") from None
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise NotCarried("an object has the same member twice")
    return found


def _constant(name: str) -> NoReturn:
    raise NotCarried(f"{name} is not a number that JSON has")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NotCarried("a number is too large to read")
    return number
