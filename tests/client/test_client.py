"""The Python client with the real platform."""

from pathlib import Path

import anyio
import pytest
from mcp_types import ElicitRequest, ImageContent, TextContent

from coatcheck.client import AsyncCoatcheck, AsyncTicket, Coatcheck, Ticket, accept, decline, wait_all
from coatcheck.client.errors import (
    AnswerRefused,
    InputNeeded,
    NotFinished,
    Refused,
    TaskCancelled,
    TaskFailed,
    UnknownTicket,
)
from coatcheck.client.ledger import UNKNOWN, Ledger
from coatcheck.client.models import Task
from coatcheck.client.wire import IDEMPOTENCY
from tests.support.platform import Platform
from tests.support.waiting import wait_until


def ticket(coatcheck: Coatcheck, tool: str, **arguments: object) -> Ticket:
    answer = coatcheck.call(tool, **arguments)
    assert isinstance(answer, Ticket)
    return answer


def text_of(result: object) -> str:
    block = result.content[0]  # type: ignore[attr-defined]
    assert isinstance(block, TextContent)
    return block.text


def test_a_quick_tool_answers_at_once(coatcheck: Coatcheck, ledger: Ledger) -> None:
    result = coatcheck.call("list_samples")
    assert not isinstance(result, Ticket)
    assert "sales" in text_of(result)
    assert ledger.entries() == []


def test_a_long_one_gives_a_ticket_that_is_in_the_ledger(coatcheck: Coatcheck, ledger: Ledger) -> None:
    report = ticket(coatcheck, "generate_report", source="sales")
    (entry,) = ledger.entries()
    assert (entry.server, entry.tool, entry.task_id) == (coatcheck.server, "generate_report", report.task_id)
    assert [each.task_id for each in coatcheck.tickets()] == [report.task_id]
    report.cancel()


def test_a_wait_asks_and_gives_the_result(coatcheck: Coatcheck, ledger: Ledger) -> None:
    seen: list[str] = []

    def approve(key: str, request: object) -> object:
        assert key == "approve_outline"
        assert isinstance(request, ElicitRequest)
        return accept(approved=True, comment="Go on")

    report = ticket(coatcheck, "generate_report", source="sales")
    result = report.wait(on_input=approve, on_status=lambda task: seen.append(task.status))  # type: ignore[arg-type]
    assert text_of(result).startswith("# Report: sales")
    assert isinstance(result.content[1], ImageContent)
    assert seen[-1] == "completed"
    assert [entry.status for entry in ledger.entries()] == ["completed"]
    assert report.result() == report.wait() == result


def test_the_server_says_that_it_honours_keys(coatcheck: Coatcheck) -> None:
    assert IDEMPOTENCY in (coatcheck.discover().capabilities.extensions or {})


def test_the_same_call_with_the_same_key_is_the_same_task(coatcheck: Coatcheck) -> None:
    first = coatcheck.start("generate_report", {"source": "sales"}, idempotency_key="once")
    second = coatcheck.start("generate_report", {"source": "sales"}, idempotency_key="once")
    assert isinstance(first, Ticket)
    assert isinstance(second, Ticket)
    assert first.task_id == second.task_id
    with pytest.raises(Refused):
        coatcheck.start("generate_report", {"source": "temperatures"}, idempotency_key="once")
    first.cancel()


def test_an_answer_that_does_not_fit_is_refused_and_the_task_still_asks(coatcheck: Coatcheck) -> None:
    report = ticket(coatcheck, "generate_report", source="sales")
    wait_until(report.outstanding, 10, "the question")
    with pytest.raises(AnswerRefused) as caught:
        report.answer("approve_outline", accept(approved="perhaps"))
    assert caught.value.key == "approve_outline"
    assert list(report.outstanding()) == ["approve_outline"]
    report.answer("approve_outline", decline())
    assert report.wait().is_error


def test_several_inputs_can_be_answered_one_by_one(coatcheck: Coatcheck) -> None:
    meeting = ticket(coatcheck, "plan_meeting", topic="tea")
    wait_until(lambda: len(meeting.outstanding()) == 2, 10, "both questions")
    meeting.answer("who", accept(people=3))
    assert list(meeting.outstanding()) == ["when"]
    meeting.answer("when", accept(day="2027-03-03", time="09:00"))
    result = meeting.wait()
    assert result.structured_content == {
        "topic": "tea",
        "day": "2027-03-03",
        "time": "09:00",
        "room": "Anvil",
        "people": 3,
        "equipment": [],
    }


def test_an_input_that_the_author_rejects_is_asked_again_under_its_new_key(coatcheck: Coatcheck) -> None:
    asked: list[str] = []

    def answer(key: str, _request: object) -> object:
        asked.append(key)
        if key.startswith("who"):
            return accept(people=3)
        return accept(day="2027-03-06" if len(asked) < 3 else "2027-03-03", time="09:00")

    result = ticket(coatcheck, "plan_meeting", topic="tea").wait(on_input=answer)  # type: ignore[arg-type]
    assert not result.is_error
    assert len(asked) == len(set(asked)) == 3


def test_every_ending_has_its_own_error(coatcheck: Coatcheck) -> None:
    assert ticket(coatcheck, "refuse").wait().is_error
    with pytest.raises(TaskFailed) as failed:
        ticket(coatcheck, "break_down").wait()
    assert failed.value.code == -32007
    loitering = ticket(coatcheck, "loiter", seconds=60)
    with pytest.raises(NotFinished):
        loitering.result()
    loitering.cancel()
    loitering.cancel()
    with pytest.raises(TaskCancelled):
        loitering.wait()


def test_a_wait_without_anyone_to_answer_tells_what_is_asked(coatcheck: Coatcheck) -> None:
    report = ticket(coatcheck, "generate_report", source="sales")
    for on_input in (None, lambda _key, _request: None):
        with pytest.raises(InputNeeded) as caught:
            report.wait(on_input=on_input)
        assert (caught.value.task_id, list(caught.value.requests)) == (report.task_id, ["approve_outline"])
    report.cancel()


def test_an_unknown_id_is_told_and_its_ticket_kept(coatcheck: Coatcheck, ledger: Ledger) -> None:
    ledger.send(coatcheck.server, "brew", "k", None)
    ledger.keep_ticket(coatcheck.server, "k", "gone", "working", None)
    for act in (coatcheck.ticket("gone").status, coatcheck.ticket("gone").cancel, coatcheck.ticket("gone").wait):
        with pytest.raises(UnknownTicket):
            act()
    with pytest.raises(UnknownTicket):
        coatcheck.ticket("gone").answer("q", accept())
    assert [(entry.task_id, entry.status) for entry in ledger.entries()] == [("gone", UNKNOWN)]


def test_a_ticket_works_in_another_client_and_without_the_ledger(
    coatcheck: Coatcheck, platform: Platform, tmp_path: Path
) -> None:
    report = ticket(coatcheck, "generate_report", source="sales")
    with Coatcheck(platform.url, ledger=tmp_path / "other.db") as other:
        result = other.ticket(report.task_id).wait(on_input=lambda _key, _request: accept(approved=True))
    assert text_of(result).startswith("# Report")


def test_changes_are_told_by_the_server_and_not_polled(coatcheck: Coatcheck) -> None:
    """SUB-1, SUB-2: the tool's polling interval is longer than any test may take."""
    seen: list[str | None] = []
    result = ticket(coatcheck, "tell").wait(on_status=lambda task: seen.append(task.status_message))
    assert text_of(result) == "told"
    assert seen[-1] == "Completed"
    assert len(seen) == len(set(seen))


def test_many_tickets_are_waited_for_at_once(coatcheck: Coatcheck) -> None:
    answers = {"approve_outline": accept(approved=True), "who": accept(people=3)}
    answers["when"] = accept(day="2027-03-03", time="09:00")
    tickets = [
        ticket(coatcheck, "generate_report", source="sales"),
        ticket(coatcheck, "plan_meeting", topic="tea"),
        ticket(coatcheck, "break_down"),
    ]
    seen: list[tuple[str, Task]] = []
    outcomes = wait_all(
        tickets,
        on_input=lambda _ticket, key, _request: answers[key],
        on_status=lambda ticket, task: seen.append((ticket.tool, task)),
    )
    assert [isinstance(outcome, Exception) for outcome in outcomes] == [False, False, True]
    assert {tool for tool, _ in seen} == {"generate_report", "plan_meeting", "break_down"}


def test_the_asynchronous_client_does_the_same(platform: Platform, ledger: Ledger) -> None:
    async def main() -> str:
        async with AsyncCoatcheck(platform.url, ledger=ledger.path) as coatcheck:
            assert "generate_report" in [tool.name for tool in await coatcheck.tools()]
            report = await coatcheck.call("generate_report", source="sales")
            assert isinstance(report, AsyncTicket)

            async def approve(_key: str, _request: object) -> object:
                return accept(approved=True)

            result = await report.wait(on_input=approve)  # type: ignore[arg-type]
            assert [each.task_id for each in await coatcheck.tickets()] == [report.task_id]
            return text_of(result)

    assert anyio.run(main).startswith("# Report: sales")


def test_a_wait_survives_a_restart_of_the_front_door(ledger: Ledger) -> None:
    with Platform(tools="coatcheck.workers.tools") as own, Coatcheck(own.start().url, ledger=ledger.path) as coatcheck:
        report = ticket(coatcheck, "generate_report", source="sales")
        restarted: list[bool] = []

        def restart_and_approve(_key: str, _request: object) -> object:
            own.webs[0].kill()
            own.webs[0].start()
            restarted.append(True)
            return accept(approved=True)

        result = report.wait(on_input=restart_and_approve)  # type: ignore[arg-type]
        assert restarted == [True]
        assert text_of(result).startswith("# Report")
