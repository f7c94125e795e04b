"""What a tool may ask, what a client must have declared for it, and which answers fit."""

from __future__ import annotations

from cProfile import Profile
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, Optional

import jsonschema_rs
import mcp_types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from coatcheck.workers.toolkit.errors import InvalidAnswer, InvalidRequest
from coatcheck.workers.toolkit.inputs import (
    Answer,
    Elicit,
    ElicitURL,
    Roots,
    Sample,
    check_answer,
    load_validator,
    missing_capability,
)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Person(BaseModel):
    name: Annotated[str, Field(max_length=20, description="As in the passport")]
    age: int = 18
    colour: Colour | None = None


def even(content: dict[str, Any]) -> None:
    if content["n"] % 2:
        raise ValueError("n is odd")


def wire_of(schema: object) -> dict[str, Any]:
    """The requestedSchema that a client gets."""
    requested: dict[str, Any] = Elicit("Well?", schema).to_wire()["params"]["requestedSchema"]
    return requested


PERSON = Elicit(
    "Who?",
    {
        "name": str,
        "age": Annotated[int, Field(ge=18)],
        "colour": Colour,
        "tags": Annotated[list[Literal["a", "b", "c"]], Field(max_length=2)],
        "born": Optional[date],  # noqa: UP045 - the older spelling means the same
    },
).to_wire()
GOOD = {"name": "Ann", "age": 18, "colour": "red", "tags": ["a"]}


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        (bool, {"type": "boolean", "title": "It"}),
        (str, {"type": "string", "title": "It"}),
        (float, {"type": "number", "title": "It"}),
        (Annotated[int, Field(ge=1, le=9)], {"type": "integer", "title": "It", "minimum": 1, "maximum": 9}),
        (date, {"type": "string", "format": "date", "title": "It"}),
        (datetime, {"type": "string", "format": "date-time", "title": "It"}),
        (Colour, {"type": "string", "enum": ["red", "blue"], "title": "It"}),
        (Literal["yes"], {"type": "string", "enum": ["yes"], "title": "It"}),
        (list[Colour], {"type": "array", "items": {"type": "string", "enum": ["red", "blue"]}, "title": "It"}),
        (Annotated[str, Field(title="Your name")], {"type": "string", "title": "Your name"}),
        ({"type": "string", "format": "email"}, {"type": "string", "format": "email", "title": "It"}),
        (
            {"type": "string", "oneOf": [{"const": "r", "title": "Red"}]},
            {"type": "string", "oneOf": [{"const": "r", "title": "Red"}], "title": "It"},
        ),
        (
            {"type": "array", "items": {"anyOf": [{"const": "r", "title": "Red"}]}, "minItems": 1},
            {"type": "array", "items": {"anyOf": [{"const": "r", "title": "Red"}]}, "minItems": 1, "title": "It"},
        ),
    ],
)
def test_a_type_becomes_a_required_property_of_the_restricted_schema(described: object, expected: object) -> None:
    assert wire_of({"it": described}) == {"type": "object", "properties": {"it": expected}, "required": ["it"]}


@pytest.mark.parametrize("described", [str | None, Annotated[str | None, Field(default=None)]])
def test_an_optional_type_becomes_a_property_that_may_be_left_out(described: object) -> None:
    assert wire_of({"it": described}) == {"type": "object", "properties": {"it": {"type": "string", "title": "It"}}}


def test_a_default_stands_in_the_form_and_makes_its_property_optional() -> None:
    properties = {"n": {"type": "integer", "title": "N", "default": 3}}
    assert wire_of({"n": Annotated[int, Field(default=3)]}) == {"type": "object", "properties": properties}


def test_a_pydantic_model_and_a_whole_json_schema_are_forms_too() -> None:
    from_model = wire_of(Person)
    assert from_model == {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Name", "maxLength": 20, "description": "As in the passport"},
            "age": {"type": "integer", "title": "Age", "default": 18},
            "colour": {"type": "string", "enum": ["red", "blue"]},
        },
        "required": ["name"],
    }
    assert wire_of(from_model) == from_model
    assert wire_of({}) == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    "described",
    [
        dict,
        list[str],
        list[int],
        set[Colour],
        int | str,
        Literal[1, 2],
        Decimal,
        Person,
        None,
        Any,
        object(),
        Annotated[int, Field(gt=3)],
        Annotated[str, Field(pattern="a+")],
        {"type": "string", "format": "hostname"},
        {"type": "string", "minLength": -1},
        {"type": "integer", "default": "x"},
        {"type": "string", "enum": []},
        {"type": "string", "enum": [1]},
        {"type": "string", "oneOf": [{"const": "a"}]},
        {"type": ["string", "null"]},
        {"type": "object", "properties": {}},
        {"$ref": "#/$defs/Nowhere"},
    ],
)
def test_what_a_form_cannot_ask_for_is_refused_by_its_name(described: object) -> None:
    with pytest.raises(InvalidRequest, match="thing"):
        Elicit("Well?", {"thing": described})


@pytest.mark.parametrize(
    "schema",
    [
        7,
        "name",
        int,
        {"type": "object"},
        {"type": "object", "properties": {}, "allOf": []},
        {"type": "object", "properties": {}, "required": ["x"]},
        {"": str},
        {3: str},
    ],
)
def test_what_is_not_a_form_at_all_is_refused(schema: object) -> None:
    with pytest.raises(InvalidRequest):
        Elicit("Well?", schema)


@pytest.mark.parametrize(
    "name",
    [
        "password", "new_password", "passwordAgain", "Passphrase", "apiKey", "API_KEY", "APIKey", "access_token",
        "token", "client_secret", "secret", "privateKey", "credit_card", "card-number", "CVV", "cvc", "pin", "PIN code",
        "pw", "db_pw", "passcode", "otp", "one-time code", "oneTimePassword", "ssn", "Token of the payment provider",
        "PIN for your card", "API token (from your settings)", "Mot de passe", "motDePasse", "Passwort", "Kennwort",
        "Contraseña", "contraseña_nueva", "Privater Schlüssel", "Clé privée",
    ],
)  # fmt: skip
def test_a_form_that_asks_for_a_secret_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match="ElicitURL"):
        Elicit("Well?", {name: str})
    with pytest.raises(InvalidRequest, match="ElicitURL"):
        Elicit("Well?", {"it": Annotated[str, Field(title=name)]})


@pytest.mark.parametrize(
    "name",
    [
        "tokens_used", "max_tokens", "token_budget", "keyboard", "key", "secretary", "pinned", "opinion", "shipping",
        "password_length", "card_type", "username", "email", "business_card", "secret_name", "compass", "spin",
        "bypass", "passport", "Length of the password", "Tokens used", "Opinion on the token budget", "tokenizer",
    ],
)  # fmt: skip
def test_a_form_that_only_sounds_like_a_secret_is_sent(name: str) -> None:
    assert name in wire_of({name: str})["properties"]


@pytest.mark.parametrize(
    "description",
    [
        "The password of your account.", "Which account? And your API key for it.", "Ihr Passwort", "Su contraseña",
        "Votre mot de passe", "The one-time code that we sent", "Your PIN", "Your token, from the settings",
    ],
)  # fmt: skip
def test_a_description_that_asks_for_a_secret_is_refused(description: str) -> None:
    with pytest.raises(InvalidRequest, match="ElicitURL"):
        Elicit("Well?", {"value": Annotated[str, Field(description=description)]})


@pytest.mark.parametrize(
    "description",
    [
        "Not your password.", "The user whose password expired", "How many tokens it may use", "Which page to pin",
        "The password policy to apply", "Where the compass points",
    ],
)  # fmt: skip
def test_a_description_that_only_speaks_of_one_is_sent(description: str) -> None:
    described = Annotated[str, Field(description=description)]
    assert wire_of({"value": described})["properties"]["value"]["description"] == description


@pytest.mark.parametrize(
    "message",
    [
        "Please enter your password", "Give me your API key, please.", "What is your password?", "Type your PIN.",
        "Hello! We need your credit card number.", "Enter your username and password", "Password?", "Your password:",
        "Bitte Passwort eingeben", "Bitte geben Sie Ihr Kennwort ein", "Saisissez votre mot de passe",
        "Introduzca su contraseña", "Paste your access token",
    ],
)  # fmt: skip
def test_a_message_that_asks_for_a_secret_is_refused_where_a_field_could_take_it(message: str) -> None:
    with pytest.raises(InvalidRequest, match="ElicitURL"):
        Elicit(message, {"value": str})
    assert Elicit(message, {"value": bool}).message == message
    assert ElicitURL(message, "https://pay.example/x").message == message


@pytest.mark.parametrize(
    "message",
    [
        "Never enter your password in a form. Who are you?", "Type RESET to reset the password of ann",
        "Whose password is to be reset?", "Tell me whether the password was changed", "How many tokens may it use?",
        "Which way does the compass point?", "Enter the token budget",
    ],
)  # fmt: skip
def test_a_message_that_only_speaks_of_one_is_sent(message: str) -> None:
    assert Elicit(message, {"value": str}).message == message


def test_a_message_costs_no_more_to_look_at_the_longer_a_caller_made_it() -> None:
    """Its beginning and its end, where authors ask, are looked at all the same."""
    cited = "a word. " * 500_000
    profile = Profile()
    profile.runcall(Elicit, f"Is this right? {cited}", {"note": str})
    assert sum(entry.callcount for entry in profile.getstats()) < 500_000
    for message in (f"Enter your password. {cited}", f"{cited} Enter your password."):
        with pytest.raises(InvalidRequest):
            Elicit(message, {"note": str})


def test_a_yes_or_no_about_a_secret_is_not_a_secret() -> None:
    assert "reset_password" in wire_of({"reset_password": bool, "token": Literal["keep", "renew"]})["properties"]


@pytest.mark.parametrize("url", ["ftp://a.example", "javascript:alert(1)", "https://", "/x", "https://a b", "http://["])
def test_only_a_whole_http_address_may_be_opened(url: str) -> None:
    with pytest.raises(InvalidRequest):
        ElicitURL("Sign in", url)


@pytest.mark.parametrize(
    "request_",
    [
        Elicit("Who?", Person),
        ElicitURL("Sign in", "https://pay.example/x?y=1#z"),
        Sample("Say hello"),
        Sample(
            [{"role": "user", "content": {"type": "text", "text": "x"}}],
            system_prompt="Be brief",
            temperature=0.5,
            stop_sequences=["."],
            model_preferences={"hints": [{"name": "small"}]},
            metadata={"a": Decimal("1.5")},
        ),
        Roots(),
    ],
)
def test_the_official_models_read_what_is_asked(request_: Elicit | ElicitURL | Sample | Roots) -> None:
    wire = request_.to_wire()
    model = {
        "elicitation/create": mcp_types.ElicitRequest,
        "sampling/createMessage": mcp_types.CreateMessageRequest,
        "roots/list": mcp_types.ListRootsRequest,
    }[wire["method"]]
    assert model.model_validate(wire).method == wire["method"]


def test_a_plain_string_is_one_message_of_the_user() -> None:
    messages = [{"role": "user", "content": {"type": "text", "text": "Say hello"}}]
    params = {"messages": messages, "maxTokens": 7}
    assert Sample("Say hello", max_tokens=7).to_wire() == {"method": "sampling/createMessage", "params": params}


@pytest.mark.parametrize(
    "make",
    [
        lambda: Elicit(" ", {}),
        lambda: Elicit("a", {}, time_limit=timedelta(0)),
        lambda: Elicit("a", {}, at_limit="never"),  # type: ignore[arg-type]
        lambda: Elicit("\ud800", {}).to_wire(),
        lambda: Sample(""),
        lambda: Sample([]),
        lambda: Sample("x", max_tokens=0),
        lambda: Sample("x", max_tokens=True),
        lambda: Sample([{"role": "system", "content": {"type": "text", "text": "x"}}]),
        lambda: Sample([{"role": "user", "content": {"type": "text"}}]),
        lambda: Sample("x", at_limit="decline"),
        lambda: Roots(at_limit="cancel"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(make: Any) -> None:
    with pytest.raises(InvalidRequest):
        make()


def test_a_validator_is_found_again_by_its_name() -> None:
    ref = Elicit("n?", {"n": int}, validate=even).validator_ref
    assert load_validator(ref) is even
    assert Elicit("n?", {"n": int}).validator_ref == ""
    with pytest.raises(InvalidRequest):
        load_validator("tests.nowhere:even")


class Checks:
    def bound(self, content: dict[str, Any]) -> None:
        """A method: another worker has no such object."""


def test_a_validator_that_another_worker_could_not_find_is_refused() -> None:
    def closure(content: dict[str, Any]) -> None:
        """Lives in this call only."""

    for validate in (lambda content: None, closure, Checks().bound):
        with pytest.raises(InvalidRequest):
            Elicit("n?", {"n": int}, validate=validate)


FORM, URL = Elicit("a", {}).to_wire(), ElicitURL("a", "https://a.example").to_wire()
SAMPLE, ROOTS = Sample("a").to_wire(), Roots().to_wire()


@pytest.mark.parametrize(
    ("request_", "declared", "missing"),
    [
        (FORM, {"elicitation": {}}, None),
        (FORM, {"elicitation": {"form": {}}}, None),
        (FORM, {"elicitation": {"form": {"applyDefaults": True}, "url": {}}}, None),
        (FORM, {"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}),
        (FORM, {"elicitation": {"form": None}}, {"elicitation": {"form": {}}}),
        (FORM, {"elicitation": None}, {"elicitation": {"form": {}}}),
        (FORM, {}, {"elicitation": {"form": {}}}),
        (URL, {"elicitation": {}}, {"elicitation": {"url": {}}}),
        (URL, {"elicitation": {"form": {}}}, {"elicitation": {"url": {}}}),
        (URL, {"elicitation": {"url": {}}}, None),
        (SAMPLE, {"sampling": {}}, None),
        (SAMPLE, {"sampling": None, "elicitation": {}}, {"sampling": {}}),
        (ROOTS, {"roots": {"listChanged": True}}, None),
        (ROOTS, {"roots": True}, {"roots": {}}),
    ],
)
def test_what_the_client_did_not_declare_is_told(request_: Any, declared: Any, missing: Any) -> None:
    """MRTR-3, C84."""
    assert missing_capability(request_, declared) == missing


@pytest.mark.parametrize("request_", [PERSON, URL])
@pytest.mark.parametrize("action", ["decline", "cancel"])
@pytest.mark.parametrize("extra", [{}, {"content": None}, {"content": {"junk": 1}}, {"content": 7}])
def test_a_decline_or_cancel_is_accepted_whatever_its_content(request_: Any, action: str, extra: Any) -> None:
    """C82."""
    normalised = check_answer(request_, {"action": action, **extra})
    assert normalised == {"action": action}
    answer = Answer.from_wire(request_, normalised)
    assert (answer.declined, answer.cancelled, answer.accepted) == (action == "decline", action == "cancel", False)
    assert answer.content == {}


@pytest.mark.parametrize(
    "answer",
    ["yes", None, 7, [], {}, {"action": "later"}, {"action": None}, {"action": ["accept"]}, {"action": "Accept"}],
)
@pytest.mark.parametrize("request_", [PERSON, URL])
def test_an_answer_without_a_known_action_is_refused(request_: Any, answer: object) -> None:
    """C82."""
    with pytest.raises(InvalidAnswer):
        check_answer(request_, answer)


@pytest.mark.parametrize(
    ("content", "field"),
    [
        ({}, "name: is required"),
        (None, "name: is required"),
        (GOOD | {"age": "18"}, "age:"),
        (GOOD | {"age": True}, "age:"),
        (GOOD | {"age": 17}, "age:"),
        (GOOD | {"age": 18.5}, "age:"),
        (GOOD | {"age": 1e300}, "age: is too large"),
        (GOOD | {"colour": "x"}, "colour:"),
        (GOOD | {"colour": None}, "colour:"),
        (GOOD | {"tags": ["a", "b", "c"]}, "tags:"),
        (GOOD | {"tags": ["z"]}, "tags[0]:"),
        (GOOD | {"name": {"first": "Ann"}}, "name:"),
        (GOOD | {"born": "2026-13-01"}, "born:"),
        (GOOD | {"born": None}, "born:"),
        (7, "content:"),
        ([], "content:"),
    ],
)
def test_an_acceptance_that_breaks_the_form_names_the_field(content: object, field: str) -> None:
    """C83."""
    with pytest.raises(InvalidAnswer) as refused:
        check_answer(PERSON, {"action": "accept", "content": content})
    assert any(fault.startswith(field) for fault in refused.value.faults)


def test_faults_never_repeat_a_value() -> None:
    with pytest.raises(InvalidAnswer) as refused:
        check_answer(PERSON, {"action": "accept", "content": GOOD | {"age": "hunter2", "colour": "hunter2"}})
    assert "hunter2" not in str(refused.value)


def test_a_whole_number_is_an_integer_and_an_unknown_field_is_dropped() -> None:
    """C83."""
    normalised = check_answer(PERSON, {"action": "accept", "content": GOOD | {"age": 18.0, "x": 1}, "more": 2})
    assert normalised == {"action": "accept", "content": GOOD}
    assert type(normalised["content"]["age"]) is int


@pytest.mark.parametrize("answer", [{"action": "accept"}, {"action": "accept", "content": None}])
def test_an_acceptance_needs_no_content_when_nothing_is_required(answer: object) -> None:
    """C83."""
    form = Elicit("a", {"note": str | None}).to_wire()
    assert check_answer(form, answer) == {"action": "accept", "content": {}}


class Choices(BaseModel):
    n: int = 3
    picked: list[Literal["a", "b"]] = Field(default_factory=lambda: ["a"])
    note: str | None = None


@pytest.mark.parametrize("content", [None, {}, {"n": 3}, {"picked": ["a"]}, {"n": 3.0, "x": 1}])
@pytest.mark.parametrize("schema", [Choices, Choices.model_json_schema()], ids=["model", "schema"])
def test_defaults_stand_in_an_answer_that_leaves_them_out(schema: object, content: object) -> None:
    """K4.7"""
    normalised = check_answer(Elicit("a", schema).to_wire(), {"action": "accept", "content": content})
    made = schema is Choices or content == {"picked": ["a"]}  # a bare schema does not know what a function would make
    picked = {"picked": ["a"]} if made else {}
    assert normalised == {"action": "accept", "content": {"n": 3, **picked}}
    assert type(normalised["content"]["n"]) is int


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_no_default_stands_in_an_answer_that_is_no_acceptance(action: str) -> None:
    """K4.7"""
    assert check_answer(Elicit("a", Choices).to_wire(), {"action": action, "content": {}}) == {"action": action}


def test_what_an_answer_says_wins_over_a_default() -> None:
    """K4.7"""
    sent = {"n": 0, "picked": []}
    assert check_answer(Elicit("a", Choices).to_wire(), {"action": "accept", "content": sent})["content"] == sent


def test_an_accepted_page_has_no_content() -> None:
    assert check_answer(URL, {"action": "accept", "content": {"x": 1}}) == {"action": "accept"}


TEXT = {"type": "text", "text": "Paris"}


@pytest.mark.parametrize(
    "content",
    [
        TEXT,
        [TEXT, {"type": "image", "data": "aGk=", "mimeType": "image/png"}],
        {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
        [{"type": "tool_use", "id": "1", "name": "f", "input": {}}],
    ],
)
def test_a_sampling_is_given_to_the_tool_as_it_came(content: object) -> None:
    sent = {"role": "assistant", "content": content, "model": "m", "stopReason": "endTurn"}
    normalised = check_answer(SAMPLE, {**sent, "extra": 1})
    assert normalised == sent
    answer = Answer.from_wire(SAMPLE, normalised)
    assert (answer.accepted, answer.content, answer.model) == (True, content, "m")
    assert answer.text == ("Paris" if "Paris" in str(content) else "")


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"role": "system"}, "role:"),
        ({"model": None}, "model:"),
        ({"stopReason": 3}, "stopReason:"),
        ({"content": "Paris"}, "content:"),
        ({"content": {"type": "video"}}, "content:"),
        ({"content": {"type": "text"}}, "content.text: is a string"),
        ({"content": [{"type": "image", "data": "x"}]}, "content.mimeType: is a string"),
        ({"content": [7]}, "content:"),
    ],
)
def test_a_sampling_of_the_wrong_shape_is_refused(changed: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidAnswer) as refused:
        check_answer(SAMPLE, {"role": "assistant", "content": TEXT, "model": "m"} | changed)
    assert refused.value.faults[0].startswith(field)


def test_roots_are_addresses_of_folders() -> None:
    sent = {"roots": [{"uri": "file:///a", "name": "A", "x": 1}, {"uri": "file:///b"}]}
    normalised = check_answer(ROOTS, sent)
    assert normalised == {"roots": [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b"}]}
    assert Answer.from_wire(ROOTS, normalised).roots == normalised["roots"]
    for roots in (None, {}, ["file:///a"], [{"uri": "https://a"}], [{"uri": 3}], [{"uri": "file:///a", "name": 3}]):
        with pytest.raises(InvalidAnswer):
            check_answer(ROOTS, {"roots": roots})


@pytest.mark.parametrize("request_", [PERSON, URL, SAMPLE, ROOTS])
def test_no_answer_before_the_limit_is_an_answer_of_its_own(request_: Any) -> None:
    answer = Answer.from_wire(request_, None)
    assert answer == Answer("none")
    assert answer.timed_out
    assert (answer.accepted, answer.declined, answer.cancelled) == (False, False, False)
    assert (answer.content, answer.text, answer.model, answer.roots) == ({}, "", "", [])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(
    request_=st.sampled_from([PERSON, URL, SAMPLE, ROOTS]),
    answer=json_values
    | st.fixed_dictionaries({"action": st.sampled_from(["accept", "decline"]), "content": json_values})
    | st.fixed_dictionaries(
        {"action": st.just("accept"), "content": st.fixed_dictionaries(dict.fromkeys(GOOD, json_values))}
    )
    | st.fixed_dictionaries({"role": st.just("user"), "model": st.just("m"), "content": json_values}),
)
def test_any_answer_is_either_refused_or_normalised_once_and_for_all(request_: Any, answer: object) -> None:
    try:
        normalised = check_answer(request_, answer)
    except InvalidAnswer:
        return
    assert check_answer(request_, normalised) == normalised
    if "content" in normalised and "action" in normalised:
        jsonschema_rs.validate(request_["params"]["requestedSchema"], normalised["content"])
