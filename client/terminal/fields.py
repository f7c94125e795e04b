"""The fields of a form, read from the schema of an elicitation, and what may be typed into them. Pure.

Source: client/elicitation, "Requested Schema".
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal
from urllib.parse import urlsplit

from coatcheck.client.errors import InvalidArguments
from coatcheck.client.strict_json import NotJson, read_json
from coatcheck.client.terminal.text import counted, one_line

Kind = Literal["text", "integer", "number", "boolean", "choice", "choices", "json"]

EXAMPLES = {
    "date": "2027-03-31",
    "date-time": "2027-03-31T14:00:00+02:00",
    "email": "name@example.com",
    "uri": "https://example.com/page",
}
"""How a value of each format looks."""

LIMITS = frozenset({"minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"})

_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)*")


class NotAccepted(InvalidArguments):
    """The value does not fit the field; the message tells how it would."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the values that a field can have."""

    value: str
    title: str


@dataclass(frozen=True, slots=True)
class Field:
    """One thing to fill in."""

    name: str
    label: str
    description: str
    kind: Kind
    is_required: bool
    default: Any
    choices: tuple[Choice, ...]
    rules: Mapping[str, Any]
    """The schema that the field was made from."""

    @property
    def hint(self) -> str:
        """What is expected, in a few words; empty when there is nothing to say."""
        words = [f"like {EXAMPLES[form]}"] if (form := str(self.rules.get("format"))) in EXAMPLES else []
        low, high = self.rules.get("minimum"), self.rules.get("maximum")
        if low is not None or high is not None:
            words.append(_range(low, high))
        elif self.kind == "integer":
            words.append("a whole number")
        if self.kind == "json":
            words.append("as JSON")
        if not self.is_required:
            words.append("optional")
        return one_line(", ".join(words))

    def parse(self, text: str) -> Any:
        """The value that was typed; None when an optional field is left empty. Raises NotAccepted."""
        if not text.strip():
            if self.is_required and (self.kind != "text" or self.rules.get("minLength", 1)):
                raise NotAccepted("This is needed.")
            return "" if self.is_required else None
        if self.kind in ("integer", "number"):
            return self._number(text.strip())
        if self.kind == "json":
            return _json(text)
        return self._text(text)

    def check_count(self, chosen: int) -> None:
        """So many choices may be made. Raises NotAccepted."""
        low, high = self.rules.get("minItems", 0), self.rules.get("maxItems", len(self.choices))
        if chosen == 0 and not self.is_required:
            return
        if not low <= chosen <= high:
            raise NotAccepted(f"Choose {_range(low, high)}." if low != high else f"Choose {low}.")

    def shown(self, value: Any) -> str:
        """The value as the form shows it."""
        if value is None:
            return "—"
        if isinstance(value, bool):
            return "yes" if value else "no"
        titles = {choice.value: choice.title for choice in self.choices}
        if isinstance(value, list):
            return ", ".join(titles.get(item, str(item)) for item in value) or "none"
        return titles.get(value, str(value)) if isinstance(value, str) else str(value)

    def _number(self, text: str) -> int | float:
        try:
            number: int | float = int(text)
        except ValueError:
            try:
                number = float(text)
            except ValueError:
                number = math.nan
        if not math.isfinite(number):
            raise NotAccepted("This is not a number.")
        if self.kind == "integer" and number != int(number):
            raise NotAccepted("This has to be a whole number.")
        low, high = self.rules.get("minimum"), self.rules.get("maximum")
        if (low is not None and number < low) or (high is not None and number > high):
            raise NotAccepted(f"This has to be {_range(low, high)}.")
        return int(number) if self.kind == "integer" else number

    def _text(self, text: str) -> str:
        low, high = self.rules.get("minLength", 0), self.rules.get("maxLength")
        if len(text) < low:
            raise NotAccepted(f"At least {counted(low, 'character')}, not {len(text)}.")
        if high is not None and len(text) > high:
            raise NotAccepted(f"At most {counted(high, 'character')}, not {len(text)}.")
        return _formatted(text, str(self.rules.get("format", "")))


def fields_of(schema: Mapping[str, Any]) -> tuple[Field, ...]:
    """The fields in the schema's order."""
    required, properties = schema.get("required"), schema.get("properties")
    if not isinstance(properties, Mapping):
        return ()
    needed = required if isinstance(required, list) else []
    return tuple(
        _field(name, _sound(rules), is_required=name in needed)
        for name, rules in properties.items()
        if isinstance(rules, Mapping)
    )


def _sound(rules: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rules without limits that are no numbers, which nothing can be compared with."""
    return {
        name: value
        for name, value in rules.items()
        if name not in LIMITS or (isinstance(value, int | float) and not isinstance(value, bool))
    }


def _field(name: str, rules: Mapping[str, Any], *, is_required: bool) -> Field:
    label = one_line(str(rules.get("title") or name.replace("_", " ").capitalize()))
    description = one_line(str(rules.get("description", "")))
    items = rules.get("items")
    choices = _choices(rules if rules.get("type") != "array" else items if isinstance(items, Mapping) else {})
    return Field(name, label, description, _kind(rules, choices), is_required, rules.get("default"), choices, rules)


def _kind(rules: Mapping[str, Any], choices: tuple[Choice, ...]) -> Kind:
    named = rules.get("type", "string")
    if choices:
        return "choices" if named == "array" else "choice"
    kinds: dict[str, Kind] = {"string": "text", "integer": "integer", "number": "number", "boolean": "boolean"}
    return kinds.get(named, "json") if isinstance(named, str) else "json"


def _choices(rules: Mapping[str, Any]) -> tuple[Choice, ...]:
    titled = rules.get("oneOf") or rules.get("anyOf")
    titled = titled if isinstance(titled, list) else []
    if titled and all(isinstance(each, dict) and isinstance(each.get("const"), str) for each in titled):
        return tuple(Choice(each["const"], one_line(str(each.get("title", each["const"])))) for each in titled)
    values = rules.get("enum")
    if not isinstance(values, list) or not values or not all(isinstance(value, str) for value in values):
        return ()
    names = rules.get("enumNames")  # the spelling of older revisions
    names = names if isinstance(names, list) else values
    return tuple(Choice(value, one_line(str(name))) for value, name in zip(values, names, strict=False))


def _formatted(text: str, form: str) -> str:
    """The text as the format wants it. Raises NotAccepted."""
    try:
        if form == "date":
            return date.fromisoformat(text.strip()).isoformat()
        if form == "date-time":
            moment = datetime.fromisoformat(text.strip())
            return (moment if moment.tzinfo else moment.astimezone()).isoformat()
        is_right = True
        if form == "email":
            text = text.strip()
            is_right = _EMAIL.fullmatch(text) is not None
        elif form == "uri":
            text = text.strip()
            is_right = bool(urlsplit(text).scheme) and " " not in text
    except ValueError:
        is_right = False
    if not is_right:
        raise NotAccepted(f"This has to look like {EXAMPLES[form]}.")
    return text


def _json(text: str) -> Any:
    try:
        value = read_json(text)
    except NotJson as fault:
        raise NotAccepted(f"This is not JSON: {fault}.") from fault
    is_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
    if not (is_list or isinstance(value, str | int | float)):
        raise NotAccepted("A form holds text, numbers, true and false, and lists of text.")
    return value


def _range(low: float | None, high: float | None) -> str:
    if low is None:
        return f"at most {high}"
    return f"at least {low}" if high is None else f"{low} to {high}"
