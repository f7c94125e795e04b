"""Sessions at a real terminal: what a person sees, types and interrupts."""

import re
import signal
from pathlib import Path

import pexpect
import pytest

from coatcheck.client.command.exits import Exit
from coatcheck.client.ledger import Ledger
from tests.client.command import Command
from tests.support.waiting import wait_until

ENTER, DOWN, SPACE, CTRL_C, CTRL_D = "\r", "\x1b[B", " ", "\x03", "\x04"

Terminal = "pexpect.spawn[str]"


def choose(terminal: Terminal, question: str, down: int) -> None:
    """The choice so many lines below the first one was taken."""
    terminal.expect(question)
    terminal.expect("arrows, then Enter")
    for _ in range(down):
        terminal.send(DOWN)
    terminal.send(ENTER)


def fill(terminal: Terminal, label: str, typed: str) -> None:
    terminal.expect(re.escape(label))
    terminal.send(typed + ENTER)


def ended(terminal: Terminal) -> tuple[int, str]:
    """The exit code, and what was printed since the last thing that was waited for."""
    terminal.expect(pexpect.EOF)
    printed = terminal.before or ""
    terminal.close()
    assert "Traceback" not in printed
    return terminal.exitstatus, printed


def test_a_report_survives_the_death_of_the_process_that_waits_for_it(command: Command, ledger: Ledger) -> None:
    """What Coatcheck is for: the wait is killed while the task asks, and another process goes on with it.

    K5.6: a terminal shows the report, and not its Markdown.
    """
    with command.terminal("call", "generate_report", "--arg", "source=sales") as terminal:
        terminal.expect("Approve this outline")
        terminal.expect("Approve the outline")
        terminal.kill(signal.SIGKILL)
        terminal.wait()
        assert terminal.signalstatus == signal.SIGKILL
    (entry,) = ledger.entries()
    assert entry.status == "input_required"
    with command.terminal("resume") as terminal:
        terminal.expect(f"generate_report of coatcheck at {re.escape(entry.server)} asks")
        terminal.expect("300 rows, 9 columns")
        terminal.expect("Approve the outline")
        terminal.send("y" + ENTER)
        fill(terminal, "Comment", "Looks right")
        choose(terminal, "Send this", 0)
        terminal.expect("Report: sales")
        assert not (terminal.before or "").endswith("# ")
        code, printed = ended(terminal)
    assert code == Exit.COMPLETED
    assert "Approved with the comment: Looks right" in printed
    assert "##" not in printed
    assert "| --- |" not in printed
    assert [entry.status for entry in ledger.entries()] == ["completed"]


def test_every_kind_of_field_is_asked_checked_reviewed_and_changed(command: Command) -> None:
    with command.terminal("call", "fill_in") as terminal:
        terminal.expect("Fill in all of it")
        fill(terminal, "Name", "x")
        terminal.expect("At least 2 characters")
        terminal.send("yz" + ENTER)
        fill(terminal, "E-mail", "nobody")
        terminal.expect("This has to look like name@example.com")
        terminal.send("@example.com" + ENTER)
        fill(terminal, "Day", "2027-03-31")
        fill(terminal, "Count", "12")
        terminal.expect("This has to be 1 to 9")
        terminal.send("\x7f" + ENTER)
        choose(terminal, "Colour", 1)
        terminal.expect("Sizes")
        terminal.send(SPACE + DOWN + DOWN + SPACE + ENTER)
        terminal.expect("Agreed")
        terminal.send("y" + ENTER)
        fill(terminal, "Note", "")
        terminal.expect("green")
        choose(terminal, "Send this", 1)
        choose(terminal, "Which one", 0)
        fill(terminal, "Name", "!")
        choose(terminal, "Send this", 0)
        code, printed = ended(terminal)
    assert code == Exit.COMPLETED
    for part in (
        '"name":"xyz!"',
        '"email":"nobody@example.com"',
        '"day":"2027-03-31"',
        '"count":1',
        '"colour":"green"',
        '"sizes":["S","L"]',
        '"agreed":true',
    ):
        assert part in printed
    assert '"note"' not in printed


def test_declining_is_offered_in_the_middle_of_a_form(command: Command) -> None:
    with command.terminal("call", "fill_in") as terminal:
        terminal.expect("Name")
        terminal.send(CTRL_C)
        choose(terminal, "What now", 1)
        code, printed = ended(terminal)
    assert code == Exit.COMPLETED
    assert '"action":"decline"' in printed


def test_the_end_of_input_interrupts_a_form(command: Command, ledger: Ledger) -> None:
    with command.terminal("call", "fill_in") as terminal:
        terminal.expect("Name")
        terminal.send(CTRL_D)
        terminal.expect("What now")
        terminal.send(CTRL_C)
        terminal.expect("Detached; the work goes on")
        assert ended(terminal)[0] == Exit.DETACHED
    (entry,) = ledger.entries()
    command("cancel", entry.task_id)


def test_a_form_can_be_taken_up_again(command: Command) -> None:
    with command.terminal("call", "generate_report", "-a", "source=sales") as terminal:
        terminal.expect("Approve the outline")
        terminal.send(CTRL_C)
        choose(terminal, "What now", 0)
        terminal.expect("Approve the outline")
        terminal.send("n" + ENTER)
        fill(terminal, "Comment", "")
        choose(terminal, "Send this", 0)
        code, printed = ended(terminal)
    assert code == Exit.TOOL_ERROR
    assert "was not approved" in printed


def test_a_question_can_be_left_for_later_and_answered_then(command: Command, ledger: Ledger) -> None:
    with command.terminal("call", "generate_report", "-a", "source=sales") as terminal:
        terminal.expect("Approve the outline")
        terminal.send(CTRL_C)
        choose(terminal, "What now", 3)
        code, printed = ended(terminal)
    (entry,) = ledger.entries()
    assert code == Exit.INPUT_NEEDED
    assert f"coatcheck answer {entry.task_id}" in printed
    with command.terminal("answer", entry.task_id[:8]) as terminal:
        terminal.expect("Approve the outline")
        terminal.send("y" + ENTER)
        fill(terminal, "Comment", "")
        choose(terminal, "Send this", 0)
        terminal.expect("Answered: approve_outline")
        assert ended(terminal)[0] == Exit.COMPLETED
    assert command("wait", entry.task_id).code == Exit.COMPLETED


def test_two_questions_are_shown_one_after_the_other(command: Command) -> None:
    with command.terminal("call", "plan_meeting", "-a", "topic=tea") as terminal:
        fill(terminal, "Day", "2027-03-03")
        choose(terminal, "Start", 1)
        choose(terminal, "Send this", 0)
        fill(terminal, "Number of people", "3")
        terminal.expect("Equipment")
        terminal.send(ENTER)
        choose(terminal, "Send this", 0)
        code, printed = ended(terminal)
    assert code == Exit.COMPLETED
    assert '"time":"11:00"' in printed


def test_a_page_is_opened_only_after_its_host_was_shown_and_agreed_to(
    command: Command, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("browser")
    opened, browser = folder / "opened", folder / "browse"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    with command.terminal("call", "visit", BROWSER=str(browser)) as terminal:
        terminal.expect(r"It wants you to open a page of papers\.example\.com")
        terminal.expect(r"https://papers\.example\.com/sign\?id=7")
        terminal.expect("Open the page of papers.example.com")
        assert not opened.exists()
        terminal.send(ENTER)
        terminal.expect("accept")
        assert ended(terminal)[0] == Exit.COMPLETED
    assert opened.read_text() == "https://papers.example.com/sign?id=7\n"


def test_a_page_can_be_declined(command: Command) -> None:
    with command.terminal("call", "visit", BROWSER="/nowhere/browser") as terminal:
        choose(terminal, "Open the page", 2)
        terminal.expect("decline")
        assert ended(terminal)[0] == Exit.COMPLETED


def test_a_browser_that_makes_no_sense_is_told_and_the_page_still_shown(command: Command) -> None:
    with command.terminal("call", "visit", BROWSER="browse '%s") as terminal:
        choose(terminal, "Open the page", 0)
        terminal.expect("No browser could be started here")
        assert ended(terminal)[0] == Exit.COMPLETED


def test_the_progress_of_a_task_is_shown_in_place(command: Command) -> None:
    with command.terminal("call", "loiter", "-a", "seconds=1.5") as terminal:
        terminal.expect("loiter.*Running.*0:01")
        terminal.expect("done")
        assert ended(terminal)[0] == Exit.COMPLETED


def test_a_bar_shows_how_far_a_task_has_come_where_it_says_so(command: Command, home: Path) -> None:
    """K5.5."""
    with command.terminal("call", "count", "-a", f"path={home / 'enough'}") as terminal:
        terminal.expect(r"count[^\n]*━━━━[^\n]*Counting")
        (home / "enough").touch()
        terminal.expect("counted")
        assert ended(terminal)[0] == Exit.COMPLETED


def test_one_interrupt_detaches(command: Command, ledger: Ledger) -> None:
    with command.terminal("call", "loiter", "-a", "seconds=60") as terminal:
        terminal.expect("Running")
        terminal.send(CTRL_C)
        terminal.expect(r"Detached; the work goes on. Come back with:\r\n  coatcheck wait [0-9a-f]{33}\r\n")
        assert ended(terminal)[0] == Exit.DETACHED
    (entry,) = ledger.entries()
    assert command("status", entry.task_id, "--json").json["status"] == "working"
    command("cancel", entry.task_id)


def test_a_second_interrupt_offers_to_cancel(command: Command, ledger: Ledger) -> None:
    with command.terminal("call", "loiter", "-a", "seconds=60") as terminal:
        terminal.expect("Running")
        terminal.send(CTRL_C)
        terminal.expect("Ctrl-C again to cancel it")
        terminal.send(CTRL_C)
        terminal.expect("Cancel it")
        terminal.send("y" + ENTER)
        terminal.expect("Cancelled")
        assert ended(terminal)[0] == Exit.DETACHED
    (entry,) = ledger.entries()
    wait_until(lambda: command("status", entry.task_id).code == Exit.CANCELLED, 20, "the end of the task")


@pytest.mark.parametrize("key", [CTRL_C, CTRL_D])
def test_an_interrupt_of_the_offer_leaves_the_work_alone(command: Command, ledger: Ledger, key: str) -> None:
    with command.terminal("call", "loiter", "-a", "seconds=60") as terminal:
        terminal.expect("Running")
        terminal.send(CTRL_C)
        terminal.expect("Ctrl-C again to cancel it")
        terminal.send(CTRL_C)
        terminal.expect("Cancel it")
        terminal.send(key)
        assert ended(terminal)[0] == Exit.DETACHED
    (entry,) = ledger.entries()
    assert command("status", entry.task_id, "--json").json["status"] == "working"
    command("cancel", entry.task_id)


def test_a_server_cannot_move_the_cursor_of_whoever_reads_its_text(command: Command) -> None:
    with command.terminal("call", "disguise") as terminal:
        terminal.expect(r"before\[?2?J?\]0;ownedafter")
        assert ended(terminal)[0] == Exit.COMPLETED


def test_a_dumb_terminal_is_treated_like_a_pipe(command: Command) -> None:
    with command.terminal("call", "generate_report", "-a", "source=sales", TERM="dumb") as terminal:
        code, printed = ended(terminal)
    assert code == Exit.INPUT_NEEDED
    assert "coatcheck answer" in printed


def test_no_colour_is_used_where_none_is_wanted(command: Command) -> None:
    with command.terminal("tools", NO_COLOR="1") as terminal:
        code, printed = ended(terminal)
    assert code == Exit.COMPLETED
    assert "\x1b" not in printed


def test_only_a_word_for_it_says_yes_or_no(command: Command) -> None:
    with command.terminal("call", "generate_report", "-a", "source=sales") as terminal:
        terminal.expect("Approve the outline")
        for typed in ("zzz", "yesterday", "nope"):
            terminal.send(typed + ENTER)
            terminal.expect("Type y for yes or n for no")
            terminal.send("\x7f" * len(typed))
        terminal.send("YES" + ENTER)
        fill(terminal, "Comment", "")
        choose(terminal, "Send this", 0)
        code, printed = ended(terminal)
    assert code == Exit.COMPLETED
    assert "Report: sales" in printed


def test_enter_alone_takes_the_no_that_is_shown(command: Command) -> None:
    with command.terminal("call", "generate_report", "-a", "source=sales") as terminal:
        terminal.expect("Approve the outline")
        terminal.expect("y/N")
        terminal.send(ENTER)
        fill(terminal, "Comment", "")
        choose(terminal, "Send this", 0)
        assert ended(terminal)[0] == Exit.TOOL_ERROR
