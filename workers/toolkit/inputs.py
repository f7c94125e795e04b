"""Inputs that a tool can ask for, and their answers: wire forms, capabilities and checks.

Requests and answers are stored and sent as dicts in wire form, so the web server works on those.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from importlib import import_module
from typing import Any, ClassVar, Final, Literal
from urllib.parse import urlsplit

from coatcheck.workers.toolkit.errors import InvalidAnswer, InvalidRequest, UnsendableValue
from coatcheck.workers.toolkit.forms import form_schema, refuse_secret_message
from coatcheck.workers.toolkit.json_schema import compiled, faults_of, type_name
from coatcheck.workers.toolkit.jsonable import MAX_INTEGER, jsonable
from coatcheck.workers.toolkit.sampling import blocks_of, message_faults

ELICITATION: Final = "elicitation/create"
SAMPLING: Final = "sampling/createMessage"
ROOTS: Final = "roots/list"

AtLimit = Literal["no_answer", "decline", "cancel", "fail"]
"""The effect of a time limit that passes: an answer with `action` "none", a decline, a cancel, or a failed task."""

Validator = Callable[[dict[str, Any]], object]
"""An author's check of a normalised answer. Raises ValueError with a message for the person who answered."""


@dataclass(frozen=True, kw_only=True)
class InputRequest:
    """The base class of inputs that a tool asks for."""

    method: ClassVar[str]

    time_limit: timedelta | None = None
    at_limit: AtLimit = "no_answer"
    validate: Validator | None = None

    def __post_init__(self) -> None:
        """Raise InvalidRequest for a request that cannot be sent, or not be checked on another worker."""
        if self.time_limit is not None and self.time_limit < timedelta(milliseconds=1):
            raise InvalidRequest("time_limit is at least a millisecond")
        if self.at_limit not in ("no_answer", "decline", "cancel", "fail"):
            raise InvalidRequest("at_limit is no_answer, decline, cancel or fail")
        if self.validator_ref and load_validator(self.validator_ref) is not self.validate:
            raise InvalidRequest(f"validate: {self.validator_ref} names another function; give one of a module's own")

    @property
    def time_limit_ms(self) -> int | None:
        """The time limit in ms; None for the task's time to live."""
        return None if self.time_limit is None else self.time_limit // timedelta(milliseconds=1)

    @property
    def validator_ref(self) -> str:
        """The validator as `module:name`, so that any worker can import it; empty when there is none."""
        if self.validate is None:
            return ""
        module, name = getattr(self.validate, "__module__", None), getattr(self.validate, "__qualname__", "")
        if not module or module == "__main__" or not name.isidentifier():
            raise InvalidRequest("validate is a function at the top of an importable module: another worker calls it")
        return f"{module}:{name}"

    def to_wire(self) -> dict[str, Any]:
        """Return the `method` and `params` that are sent. Raises InvalidRequest for a value that is not JSON."""
        try:
            params: dict[str, Any] = jsonable(self._params(), where="params")
        except UnsendableValue as error:
            raise InvalidRequest(str(error)) from error
        return {"method": self.method, "params": params}

    def _params(self) -> dict[str, Any]:
        raise NotImplementedError

    def required_capability(self) -> dict[str, Any]:
        """The capability that a client must declare for this request, such as `{"elicitation": {"form": {}}}`."""
        return required_capability(self.to_wire())


@dataclass(frozen=True)
class Elicit(InputRequest):
    """A form for the person at the client. `form_schema` in `forms.py` describes `schema`.

    The answer's content is a dict of JSON values, even if the schema was given as a pydantic model.
    """

    method: ClassVar[str] = ELICITATION

    message: str
    schema: object
    _requested_schema: dict[str, Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Convert the schema. Raises InvalidRequest."""
        super().__post_init__()
        _check_message(self.message)
        form = form_schema(self.schema)
        refuse_secret_message(self.message, form)
        object.__setattr__(self, "_requested_schema", form)

    def _params(self) -> dict[str, Any]:
        """Source: client/elicitation, "Form Mode Elicitation Requests"."""
        return {"mode": "form", "message": self.message, "requestedSchema": self._requested_schema}


@dataclass(frozen=True)
class ElicitURL(InputRequest):
    """A page that the person at the client opens. What the person enters there does not pass through the client."""

    method: ClassVar[str] = ELICITATION

    message: str
    url: str

    def __post_init__(self) -> None:
        """Raise InvalidRequest unless the address is one that a browser can open."""
        super().__post_init__()
        _check_message(self.message)
        try:
            parts = urlsplit(self.url)
        except ValueError as error:
            raise InvalidRequest("url is not an address") from error
        is_visible = self.url.isascii() and self.url.isprintable() and " " not in self.url
        if parts.scheme not in ("http", "https") or not parts.hostname or not is_visible:
            raise InvalidRequest("url is a full http or https address in ASCII")

    def _params(self) -> dict[str, Any]:
        """Source: client/elicitation, "URL Mode Elicitation Requests"."""
        return {"mode": "url", "message": self.message, "url": self.url}


@dataclass(frozen=True)
class Sample(InputRequest):
    """A request to the client's model. A string is one text message of the user."""

    method: ClassVar[str] = SAMPLING

    messages: str | Sequence[Mapping[str, Any]]
    system_prompt: str | None = field(default=None, kw_only=True)
    max_tokens: int = field(default=1000, kw_only=True)
    model_preferences: Mapping[str, Any] | None = field(default=None, kw_only=True)
    temperature: float | None = field(default=None, kw_only=True)
    stop_sequences: Sequence[str] | None = field(default=None, kw_only=True)
    metadata: Mapping[str, Any] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Check the messages and the limits. Raises InvalidRequest."""
        super().__post_init__()
        _refuse_action_at_limit(self.at_limit)
        if type(self.max_tokens) is not int or self.max_tokens < 1:
            raise InvalidRequest("max_tokens is a positive integer")
        if not self.messages:
            raise InvalidRequest("a sampling request has at least one message")
        if not isinstance(self.messages, str):
            faults = [line for n, message in enumerate(self.messages) for line in message_faults(message, f"[{n}].")]
            if faults:
                raise InvalidRequest(f"messages: {'; '.join(faults)}")

    def _params(self) -> dict[str, Any]:
        """Source: client/sampling, "Creating Messages"."""
        if isinstance(self.messages, str):
            messages = [{"role": "user", "content": {"type": "text", "text": self.messages}}]
        else:
            messages = [dict(message) for message in self.messages]
        optional = {
            "systemPrompt": self.system_prompt,
            "modelPreferences": self.model_preferences,
            "temperature": self.temperature,
            "stopSequences": None if self.stop_sequences is None else list(self.stop_sequences),
            "metadata": self.metadata,
        }
        given = {name: value for name, value in optional.items() if value is not None}
        return {"messages": messages, "maxTokens": self.max_tokens, **given}


@dataclass(frozen=True)
class Roots(InputRequest):
    """A request for the folders that the client works in."""

    method: ClassVar[str] = ROOTS

    def __post_init__(self) -> None:
        """Raise InvalidRequest for an `at_limit` that only a person can choose."""
        super().__post_init__()
        _refuse_action_at_limit(self.at_limit)

    def _params(self) -> dict[str, Any]:
        """Source: client/roots, "Listing Roots"."""
        return {}


@dataclass(frozen=True)
class Answer:
    """The answer to a request: `raw` is the normalised answer, empty when the time limit passed."""

    action: Literal["accept", "decline", "cancel", "none"]
    content: Any = field(default_factory=dict)
    """The values of an accepted form, else empty; for a sampling, the content block or blocks as they were sent."""
    raw: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_wire(cls, request: Mapping[str, Any], normalised: Mapping[str, Any] | None) -> Answer:
        """Return the answer to a request in wire form; None for a time limit that passed."""
        if normalised is None:
            return cls("none")
        if request["method"] == ELICITATION:
            return cls(normalised["action"], normalised.get("content", {}), normalised)
        return cls("accept", normalised.get("content", {}), normalised)

    @property
    def accepted(self) -> bool:
        """Whether the person agreed, or the client or its model answered."""
        return self.action == "accept"

    @property
    def declined(self) -> bool:
        """Whether the person declined."""
        return self.action == "decline"

    @property
    def cancelled(self) -> bool:
        """Whether the person closed the form without a choice."""
        return self.action == "cancel"

    @property
    def timed_out(self) -> bool:
        """Whether the time limit passed without an answer."""
        return self.action == "none"

    @property
    def text(self) -> str:
        """The joined text blocks of a sampling; empty for other answers."""
        if "role" not in self.raw:
            return ""
        return "".join(block["text"] for block in blocks_of(self.content) if block["type"] == "text")

    @property
    def model(self) -> str:
        """The name of the model that wrote a sampling; empty for other answers."""
        return str(self.raw.get("model", ""))

    @property
    def roots(self) -> list[dict[str, Any]]:
        """The client's roots, each with `uri` and an optional `name`; empty for other answers."""
        return list(self.raw.get("roots", []))


def load_validator(ref: str) -> Validator:
    """Return the function that `validator_ref` names. Raises InvalidRequest if it does not exist."""
    module_name, _, name = ref.partition(":")
    try:
        # A module that is still being imported must not be imported again.
        module = sys.modules[module_name] if module_name in sys.modules else import_module(module_name)
        validator: Validator = getattr(module, name)
    except (ImportError, AttributeError) as error:
        raise InvalidRequest(f"validate: {ref} cannot be found") from error
    return validator


def required_capability(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return the capability that a client must declare for a request in wire form."""
    method = request["method"]
    if method == ELICITATION:
        return {"elicitation": {request["params"].get("mode", "form"): {}}}
    return {"sampling": {}} if method == SAMPLING else {"roots": {}}


def missing_capability(request: Mapping[str, Any], declared: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the capability that the client lacks for this request, or None if it declared it.

    Source: client/elicitation, "Capabilities": an empty `elicitation` means forms only.
    """
    required = required_capability(request)
    [(name, modes)] = required.items()
    given = declared.get(name)
    if not isinstance(given, Mapping):
        return required
    if name == "elicitation" and not given.keys() & {"form", "url"}:
        given = {"form": {}}
    return None if all(isinstance(given.get(mode), Mapping) for mode in modes) else required


def check_answer(request: Mapping[str, Any], answer: object) -> dict[str, Any]:
    """Return the answer as it is stored: without unknown fields, with defaults, and with 18.0 as 18 for an integer.

    Raises InvalidAnswer, whose faults name the fields and never repeat a value.
    """
    if not isinstance(answer, Mapping):
        raise InvalidAnswer([f"an answer is an object, not {type_name(answer)}"])
    if request["method"] == SAMPLING:
        return _checked_sampling(answer)
    if request["method"] == ROOTS:
        return _checked_roots(answer)
    return _checked_elicitation(request["params"], answer)


def _checked_elicitation(params: Mapping[str, Any], answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checked answer, with content only for an accepted form.

    Source: client/elicitation, "Response Actions".
    """
    action = answer.get("action")
    if not isinstance(action, str) or action not in ("accept", "decline", "cancel"):
        raise InvalidAnswer(["action: is accept, decline or cancel"])
    if action != "accept" or params.get("mode", "form") == "url":
        return {"action": action}
    content = answer.get("content")
    if content is None:
        content = {}
    if not isinstance(content, Mapping):
        raise InvalidAnswer([f"content: is an object, not {type_name(content)}"])
    schema = params["requestedSchema"]
    properties = schema["properties"]
    known = {name: content[name] for name in properties if name in content}
    if faults := faults_of(compiled(schema, formats=True), known, root="content"):
        raise InvalidAnswer(faults)
    defaults = {name: described["default"] for name, described in properties.items() if "default" in described}
    values = {**defaults, **known}
    # In JSON Schema 18.0 is an integer, and so is 1e300, which neither the store nor a client can represent as one.
    integers = {name: int(value) for name, value in values.items() if properties[name]["type"] == "integer"}
    if faults := [f"{name}: is too large" for name, value in integers.items() if abs(value) > MAX_INTEGER]:
        raise InvalidAnswer(faults)
    return {"action": action, "content": values | integers}


def _checked_sampling(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Source: schema, CreateMessageResult."""
    faults = message_faults(answer, "")
    if not isinstance(answer.get("model"), str):
        faults.append("model: is a string")
    if not isinstance(answer.get("stopReason", ""), str):
        faults.append("stopReason: is a string")
    if faults:
        raise InvalidAnswer(faults)
    return {name: answer[name] for name in ("role", "content", "model", "stopReason") if name in answer}


def _checked_roots(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Source: client/roots, "Root": a root is a `file://` URI with an optional name."""
    roots = answer.get("roots")
    if not isinstance(roots, list):
        raise InvalidAnswer(["roots: is an array"])
    for root in roots:
        if not isinstance(root, Mapping) or not str(root.get("uri")).startswith("file://"):
            raise InvalidAnswer(["roots: each has a uri that starts with file://"])
        if not isinstance(root.get("name", ""), str):
            raise InvalidAnswer(["roots: the name of a root is a string"])
    return {"roots": [{key: root[key] for key in ("uri", "name") if key in root} for root in roots]}


def _check_message(message: object) -> None:
    if not isinstance(message, str) or not message.strip():
        raise InvalidRequest("message says, in words, what is needed and why")


def _refuse_action_at_limit(at_limit: AtLimit) -> None:
    if at_limit in ("decline", "cancel"):
        raise InvalidRequest("at_limit is no_answer or fail: only a person declines or cancels")
