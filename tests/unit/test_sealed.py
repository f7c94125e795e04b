"""The state that a client carries between two rounds of a call."""

import base64
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coatcheck.tasks_store import Owner
from coatcheck.web.errors import InvalidParams
from coatcheck.web.tool_calls.request_state import CallBinding, RequestState, StateSealer

SECRET = b"s" * 32
CALL = CallBinding(Owner("t", "p"), "greet", {"a": 1, "b": [1, {"c": None}]})
STATE = RequestState("3" + "ab" * 16, {"who": {"action": "accept", "content": {"name": "é"}}}, "who age")


def sealer(secret: bytes = SECRET, lifetime_s: int = 60) -> StateSealer:
    """A sealer as another web process would make it."""
    return StateSealer(lambda: secret, lifetime_s)


def test_another_process_opens_what_this_one_sealed() -> None:
    """MRTR-2."""
    assert sealer().open(CALL.salt, sealer().seal(CALL.salt, STATE)) == STATE


def test_the_order_of_the_arguments_does_not_matter() -> None:
    """MRTR-2."""
    reordered = CallBinding(CALL.owner, CALL.tool, {"b": [1, {"c": None}], "a": 1})
    assert sealer().open(reordered.salt, sealer().seal(CALL.salt, STATE)) == STATE


@pytest.mark.parametrize(
    "other",
    [
        CallBinding(Owner("t", "other"), CALL.tool, CALL.arguments),
        CallBinding(Owner("other", "p"), CALL.tool, CALL.arguments),
        CallBinding(CALL.owner, "other", CALL.arguments),
        CallBinding(CALL.owner, CALL.tool, {**CALL.arguments, "a": 2}),
        CallBinding(CALL.owner, CALL.tool, {**CALL.arguments, "a": True}),
        CallBinding(CALL.owner, CALL.tool, {}),
    ],
)
def test_a_state_opens_no_other_call(other: CallBinding) -> None:
    """MRTR-2."""
    with pytest.raises(InvalidParams):
        sealer().open(other.salt, sealer().seal(CALL.salt, STATE))


def test_a_state_of_another_deployment_or_past_its_time_is_refused() -> None:
    """MRTR-2."""
    sealed = sealer().seal(CALL.salt, STATE)
    with pytest.raises(InvalidParams):
        sealer(b"x" * 32).open(CALL.salt, sealed)
    with pytest.raises(InvalidParams):
        sealer(lifetime_s=-1).open(CALL.salt, sealed)


@given(st.integers(min_value=0), st.characters(exclude_categories=["Cs"]))
def test_a_state_with_any_character_changed_is_refused(at: int, character: str) -> None:
    """MRTR-2."""
    sealed = sealer().seal(CALL.salt, STATE)
    at %= len(sealed)
    changed = sealed[:at] + character + sealed[at + 1 :]
    if changed != sealed:
        with pytest.raises(InvalidParams):
            sealer().open(CALL.salt, changed)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_refused_and_nothing_else_is_raised(sealed: str) -> None:
    """MRTR-2."""
    with pytest.raises(InvalidParams):
        sealer().open(CALL.salt, sealed)


def test_what_a_person_answered_cannot_be_read() -> None:
    """MRTR-2: nor what the call was about; whoever carries or logs the state learns when it was made."""
    state = RequestState(answers={"who": {"action": "accept", "content": {"name": "Rumpelstilzchen"}}}, round="who age")
    sealed = sealer().seal(CALL.salt, state)
    raw = base64.urlsafe_b64decode(sealed)
    for packed in (raw, *(inflated(raw[at:]) for at in range(len(raw)))):
        assert b"Rumpel" not in packed
        assert b"accept" not in packed
    assert sealer().seal(CALL.salt, state) != sealed


def inflated(octets: bytes) -> bytes:
    """What was compressed, if it was."""
    try:
        return zlib.decompress(octets)
    except zlib.error:
        return b""


def test_rounds_have_different_states() -> None:
    """MRTR-1."""
    assert sealer().seal(CALL.salt, RequestState("1", round="a")) != sealer().seal(
        CALL.salt, RequestState("1", round="b")
    )
