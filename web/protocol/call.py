"""One request on its way to the method that serves it."""

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
    """The parameters of a method; those that nobody knows are ignored."""

    class Meta:
        """Source: basic/index, "Requests"."""

        unknown = EXCLUDE


@dataclass(frozen=True, slots=True)
class Call:
    """A request with whom it acts for and the headers it came with."""

    request: Request
    caller: Caller
    header: HeaderLookup

    @property
    def owner(self) -> Owner:
        """Whose tasks the call may see."""
        return self.caller.owner

    @property
    def without_content(self) -> "Call":
        """The same call without what it asks, for an answer that lasts: read, a body takes many times its size."""
        return replace(self, request=replace(self.request, params={}, meta={}, capabilities={}))

    def params(self, schema: Schema) -> Mapping[str, Any]:
        """The method's own parameters.

        Raises:
            InvalidParams: naming each parameter that is missing or of the wrong type.
        """
        try:
            loaded: Mapping[str, Any] = schema.load(self.request.params)
        except ValidationError as fault:
            raise InvalidParams("; ".join(_lines(fault.messages_dict))) from fault
        return loaded


def _lines(messages: object, place: tuple[str, ...] = ()) -> list[str]:
    """What is wrong, each line led by where; what is wrong with the parameters as a whole is led by nothing."""
    if isinstance(messages, Mapping):
        return [
            line
            for name, inner in messages.items()
            for line in _lines(inner, place if name == SCHEMA else (*place, str(name)))
        ]
    said = " ".join(map(str, messages)) if isinstance(messages, list) else str(messages)
    return [f"{'.'.join(place)}: {said}" if place else said]
