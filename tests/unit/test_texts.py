"""Whatever an author puts into an error can be sent, or is told of in the log."""

import logging
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coatcheck import ProtocolError, ToolError
from coatcheck.tasks_store import Given, Status, Verdict
from coatcheck.workers.runs.context import judge
from coatcheck.workers.settings import WorkerSettings
from coatcheck.workers.toolkit.errors import MissingCapability
from coatcheck.workers.toolkit.outcome import Ending, ending_of
from coatcheck.workers.toolkit.texts import MAX_LENGTH, sendable
from coatcheck.workers.toolkit.tool import tool, tool_of

SETTINGS = WorkerSettings(max_result_bytes=50_000)


@tool
def any_tool() -> str:
    """Do something."""
    return ""


def ending(fault: Exception) -> Ending:
    """How a tool ends that raises this."""
    defined = tool_of(any_tool)
    assert defined is not None

    def fail() -> None:
        raise fault

    return ending_of(defined, fail, SETTINGS, "task x")


class Unshowable:
    """Has no words for itself."""

    def __str__(self) -> str:
        raise RuntimeError("no")


class Own(ToolError):
    """A subclass that keeps nothing of its base."""

    def __init__(self, row: int) -> None:
        self.row = row


class OwnProtocol(ProtocolError):
    """The same for the other."""

    def __init__(self, row: int) -> None:
        self.row = row


MESSAGES = {
    "half a character": ("x \ud800", r"x \ud800"),
    "a control character": ("a\x1b[31mb\x00\x9b", r"a\x1b[31mb\x00\x9b"),
    "line breaks": ("a\n\tb", "a\n\tb"),
    "an exception": (ValueError("bad"), "bad"),
    "nothing to show": (Unshowable(), "a message of type Unshowable that cannot be shown"),
    "too long": ("x" * 20_000_000, "x" * MAX_LENGTH + "… (cut; it had 20000000 characters)"),
    "too long and halved": (
        "\ud800" * (MAX_LENGTH + 1),
        r"\ud800" * MAX_LENGTH + f"… (cut; it had {MAX_LENGTH + 1} characters)",
    ),
}


@pytest.mark.parametrize(("message", "sent"), MESSAGES.values(), ids=MESSAGES)
@pytest.mark.parametrize("kind", [ToolError, lambda message: ProtocolError(-32000, message)], ids=["tool", "protocol"])
def test_the_message_of_an_error_is_sent_in_a_form_that_can_be(
    message: Any, sent: str, kind: Callable[[Any], Exception]
) -> None:
    """K4.3, K4.4."""
    told = ending(kind(message))
    if told.error is None:
        assert orjson.loads(told.result)["content"] == [{"type": "text", "text": sent}]
    else:
        assert (told.error.message, told.message, told.error.code) == (sent, sent, -32000)


@pytest.mark.parametrize("code", [None, "x", 1.5, True, 2**70])
def test_a_code_that_is_no_integer_is_sent_as_an_internal_error(code: Any, caplog: pytest.LogCaptureFixture) -> None:
    """K4.3: a client that reads the task must not meet it."""
    told = ending(ProtocolError(code, "m"))
    assert told.error is not None
    assert (told.error.code, told.error.message) == (-32603, "m")
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


@pytest.mark.parametrize("data", [float("nan"), "\ud800", {1, 2}, "x" * 50_001, {"a": object()}])
def test_data_of_an_error_that_cannot_be_sent_is_left_out_and_told_to_the_log(
    data: object, caplog: pytest.LogCaptureFixture
) -> None:
    """K4.4."""
    for fault in (ProtocolError(-32000, "m", data), MissingCapability({"sampling": data})):
        told = ending(fault)
        assert told.error is not None
        assert told.error.data is None
    assert [record.levelno for record in caplog.records] == [logging.ERROR] * 2


def test_an_error_whose_class_forgets_its_base_is_told_all_the_same() -> None:
    """K4.3: it used to end the run without an ending."""
    assert orjson.loads(ending(Own(3)).result)["content"] == [{"type": "text", "text": "3"}]
    told = ending(OwnProtocol(3))
    assert told.error is not None
    assert (told.status, told.error.code, told.error.message) == (Status.FAILED, -32603, "3")


def refuses(_content: dict[str, Any]) -> None:
    """A validator with an odd reason."""
    raise ValueError("no \ud800" + "x" * MAX_LENGTH)


def test_the_reason_of_a_validator_is_sent_in_a_form_that_can_be() -> None:
    """K4.3, K4.4: it stands in the next question."""
    answer = orjson.dumps({"action": "accept", "content": {}})
    verdict, why = judge(Given(b"{}", answer, validator=f"{__name__}:refuses"))
    assert verdict is Verdict.REJECTED
    assert why.startswith(r"no \ud800xxx")
    assert len(why) < MAX_LENGTH + 100


@given(st.text(st.characters(), max_size=200), st.integers(1, 100))
def test_every_text_becomes_sendable(text: str, most: int) -> None:
    """K4.3."""
    sent = sendable(text, most)
    assert orjson.loads(orjson.dumps(sent)) == sent
    assert not any(character < " " and character not in "\t\n\r" for character in sent)
    assert len(sent) <= most * 10 + 60
