"""A request together with its caller, as methods receive it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from marshmallow import EXCLUDE, Schema, ValidationError
from marshmallow.exceptions import SCHEMA

from coatcheck.tasks_store import Owner
from coatcheck.web.errors import InvalidParams
from coatcheck.web.protocol.caller import Caller
from coatcheck.web.protocol.envelope import HeaderLookup, Request


class Params(Schema):
    """Base schema of a method's parameters; unknown members are ignored."""

    class Meta:
        """Source: basic/index, "Requests"."""

        unknown = EXCLUDE


@dataclass(frozen=True, slots=True)
class Call:
    """A request, its caller and its headers."""

    request: Request
    caller: Caller
    header: HeaderLookup

    @property
    def owner(self) -> Owner:
        """The owner whose tasks the call can access."""
        return self.caller.owner

    @property
    def without_content(self) -> "Call":
        """Return the call without its parameters, to free memory: a parsed body takes many times its size."""
        return replace(self, request=replace(self.request, params={}, meta={}, capabilities={}))

    def params(self, schema: Schema) -> Mapping[str, Any]:
        """Load and return the method's parameters.

        Raises:
            InvalidParams: naming each parameter that is missing or of the wrong type.
        """
        try:
            loaded: Mapping[str, Any] = schema.load(self.request.params)
        except ValidationError as fault:
            raise InvalidParams("; ".join(_lines(fault.messages_dict))) from fault
        return loaded


def _lines(messages: object, place: tuple[str, ...] = ()) -> list[str]:
    """Return one line for each fault, led by the path of the field; faults of the whole object have no path."""
    if isinstance(messages, Mapping):
        return [
            line
            for name, inner in messages.items()
            for line in _lines(inner, place if name == SCHEMA else (*place, str(name)))
        ]
    said = " ".join(map(str, messages)) if isinstance(messages, list) else str(messages)
    return [f"{'.'.join(place)}: {said}" if place else said]
