"""Tools that are tried by their authors' own tests, with nothing started."""

import pytest

from coatcheck import Context, Elicit, ProtocolError, Sample, ToolError, tool, try_tool

done: list[str] = []


def check_amount(content: dict[str, int]) -> None:
    """Refuse more than ten."""
    if content["amount"] > 10:
        raise ValueError("At most ten")


@tool
def refund(ctx: Context, order: int) -> dict[str, int]:
    """Refund an order once it is approved."""
    total = ctx.step("total", look_up, order)
    ctx.progress(1, 2, "Looked up")
    verdict = ctx.ask("approve", Elicit(f"Refund {total}?", {"amount": int}, validate=check_amount))
    if not verdict.accepted:
        raise ToolError("Not approved")
    return ctx.step("pay", pay, verdict.content["amount"])


def look_up(order: int) -> int:
    """Stands for work."""
    done.append(f"look up {order}")
    return order * 2


def pay(amount: int) -> dict[str, int]:
    """Stands for work that must not be done twice."""
    done.append(f"pay {amount}")
    return {"paid": amount}


@pytest.fixture(autouse=True)
def nothing_done() -> None:
    done.clear()


def test_it_runs_again_from_the_top_and_repeats_no_step() -> None:
    trial = try_tool(refund, {"order": 4}, {"approve": {"amount": 8}})
    assert (trial.status, trial.value) == ("completed", {"paid": 8})
    assert done == ["look up 4", "pay 8"]
    assert trial.steps == ("total", "pay")
    assert trial.progress == ("Looked up", "Looked up")


def test_it_stops_at_an_input_without_an_answer_and_shows_it() -> None:
    trial = try_tool(refund, {"order": 4})
    assert trial.status == "input_required"
    assert trial.asked["approve"]["params"]["message"] == "Refund 8?"
    assert done == ["look up 4"]


def test_a_rejected_answer_is_asked_again_with_its_number() -> None:
    trial = try_tool(refund, {"order": 4}, {"approve": {"amount": 11}, "approve#2": {"amount": 1}})
    assert trial.value == {"paid": 1}
    assert trial.asked["approve#2"]["params"]["message"] == "At most ten\n\nRefund 8?"


def test_a_whole_answer_can_be_given_and_a_tool_error_is_a_result() -> None:
    trial = try_tool(refund, {"order": 4}, {"approve": {"action": "decline"}})
    assert (trial.status, trial.result["isError"], trial.text) == ("completed", True, "Not approved")


def test_arguments_are_checked_as_the_server_does() -> None:
    trial = try_tool(refund, {"order": "four"})
    assert trial.result["isError"] is True
    assert trial.text.startswith("Invalid arguments: ")


def test_a_protocol_error_fails_the_task() -> None:
    @tool
    def fails() -> None:
        """Fail."""
        raise ProtocolError(-32050, "No", {"why": 1})

    trial = try_tool(fails)
    assert (trial.status, trial.error) == ("failed", {"code": -32050, "message": "No", "data": {"why": 1}})


def test_what_a_client_cannot_be_asked_fails_as_it_would() -> None:
    @tool
    def samples(ctx: Context) -> str:
        """Ask a model."""
        return ctx.ask("model", Sample("Say hello", max_tokens=10)).text

    assert try_tool(samples, capabilities={}).error["code"] == -32021


def test_what_the_author_did_not_mean_to_raise_is_raised() -> None:
    @tool
    def divides() -> float:
        """Divide."""
        return 1 / 0

    with pytest.raises(ZeroDivisionError):
        try_tool(divides)


def test_a_function_that_is_no_tool_is_refused() -> None:
    with pytest.raises(ValueError, match="decorate it with @tool"):
        try_tool(look_up, {"order": 1})
