"""The `coatcheck` command in pipes: plain lines, JSON, exit codes, and a sentence for every fault."""

import base64
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from coatcheck.client.command.exits import Exit
from coatcheck.client.command.group import COMMANDS
from coatcheck.client.command.tools import first_sentence
from coatcheck.client.errors import CallUnanswered, InputNeeded, NotFinished, UnknownTicket, WaitedEnough
from coatcheck.client.ledger import Ledger
from tests.client.command import Command
from tests.client.scripted import Error, Hangup, Raw, Result, Scripted, asking, created, task
from tests.support.platform import ROOT
from tests.support.ports import free_port
from tests.support.waiting import wait_until

REPORT = ("call", "generate_report", "--arg", "source=sales")


def started(command: Command, *arguments: str) -> str:
    ended = command("call", *arguments, "--detach")
    assert ended.code == Exit.COMPLETED, ended
    return ended.out.strip()


def asked(command: Command, task_id: str) -> dict[str, object]:
    def look() -> dict[str, object] | None:
        described = command("status", task_id, "--json").json
        return described if described["status"] == "input_required" else None

    found = wait_until(look, 20, "the question")
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["", *COMMANDS])
def test_every_command_has_help_with_examples(command: Command, name: str) -> None:
    ended = command(*([name] if name else []), "--help")
    assert ended.code == Exit.COMPLETED
    assert "Example" in ended.out or "configuration of a host" in ended.out


def test_tools_are_listed_and_described(command: Command) -> None:
    listed = command("tools")
    assert "generate_report source [size]" in listed.out
    one = command("tools", "generate_report")
    assert "small or medium or large" in one.out
    assert {tool["name"] for tool in command("tools", "--json").json["tools"]} >= {"generate_report", "list_samples"}
    assert command("tools", "nothing").code == Exit.USAGE


def test_a_quick_call_prints_its_result_alone_on_standard_output(command: Command) -> None:
    ended = command.process("call", "list_samples")
    assert ended.code == Exit.COMPLETED
    assert "sales" in json.loads(ended.out)["samples"][0]["name"]
    assert "\x1b" not in ended.out + ended.err


def test_a_call_that_asks_ends_with_the_ticket_and_what_to_do(command: Command, ledger: Ledger) -> None:
    ended = command(*REPORT)
    assert (ended.code, ended.out) == (Exit.INPUT_NEEDED, "")
    (entry,) = ledger.entries()
    assert f"  coatcheck answer {entry.task_id}" in ended.err.splitlines()
    assert "approved (boolean" in ended.err


def test_a_ticket_goes_through_status_answer_and_wait(command: Command, tmp_path: Path) -> None:
    task_id = started(command, *REPORT[1:])
    described = asked(command, task_id)
    assert described["tool"] == "generate_report"
    assert command("answer", task_id, "--accept", '{"approved": "x"}').code == Exit.USAGE
    assert command("answer", task_id, "nothing", "--decline").code == Exit.USAGE
    answered = command("answer", task_id[:8], "approve_outline", "--accept", '{"approved": true}', "--json")
    assert (answered.code, answered.json["answered"]) == (Exit.COMPLETED, ["approve_outline"])
    waited = command("wait", task_id, "--save", str(tmp_path / "out"))
    assert waited.code == Exit.COMPLETED
    assert waited.out.startswith("# Report: sales")
    assert (tmp_path / "out" / "generate_report-2.png").read_bytes().startswith(b"\x89PNG")
    again = command("wait", task_id, "--json").json
    assert again["status"] == "completed"
    assert base64.b64decode(again["result"]["content"][1]["data"]).startswith(b"\x89PNG")
    assert command("status", task_id).code == Exit.COMPLETED
    assert command("answer", task_id, "--decline").code == Exit.USAGE


def test_every_command_to_copy_stands_on_a_line_of_its_own() -> None:
    """K5.8: a full stop or a word beside it would be copied too."""
    form = {"key": None}
    faults = [
        UnknownTicket("t-1", "s", is_kept=True),
        InputNeeded("t-1", form),  # type: ignore[arg-type]
        WaitedEnough("t-1", 1),
        NotFinished("t-1", "working"),
        CallUnanswered("brew", "k"),
    ]
    for fault in faults:
        lines = [line for line in str(fault).splitlines() if "coatcheck" in line]
        assert lines
        assert all(re.fullmatch(r"  coatcheck \S+ [^.:]*", line) for line in lines), lines


@pytest.mark.parametrize(
    ("description", "sentence"),
    [
        ("Runs the Celery task shop.tasks.close_month.", "Runs the Celery task shop.tasks.close_month"),
        ("Says v1.2 of it. And more.", "Says v1.2 of it"),
        ("Takes a table, e.g. a CSV.\nMore.", "Takes a table, e.g. a CSV"),
        ("No full stop\n\nMore", "No full stop"),
        ("One\nline", "One line"),
        ("", ""),
    ],
)
def test_a_tool_is_listed_with_its_first_sentence(description: str, sentence: str) -> None:
    """K5.9: no dot inside a name ends one."""
    assert first_sentence(description) == sentence


@pytest.mark.parametrize(("count", "said"), [(0, "0 tickets"), (1, "1 ticket"), (2, "2 tickets")])
def test_counts_and_nouns_agree(command: Command, ledger: Ledger, count: int, said: str) -> None:
    """K6.3."""
    for number in range(count):
        ledger.send("s", "brew", f"k{number}", None)
    assert f"holds {said}." in command("doctor").out


def test_a_report_reaches_a_pipe_as_markdown(command: Command) -> None:
    """K5.6."""
    report = {"resultType": "complete", "content": [{"type": "text", "text": "# Report\n\n| a |\n| --- |\n| 1 |\n"}]}
    with Scripted({"tools/call": Result(report)}) as server:
        assert command("call", "brew", COATCHECK_URL=server.url).out == "# Report\n\n| a |\n| --- |\n| 1 |\n\n"


def test_declining_leads_to_a_tool_error_on_standard_error(command: Command) -> None:
    task_id = started(command, *REPORT[1:])
    asked(command, task_id)
    assert command("answer", task_id, "--decline").code == Exit.COMPLETED
    ended = command("wait", task_id)
    assert (ended.code, ended.out) == (Exit.TOOL_ERROR, "")
    assert "was not approved" in ended.err


def test_one_of_several_inputs_has_to_be_named(command: Command) -> None:
    task_id = started(command, "plan_meeting", "-a", "topic=tea")
    asked(command, task_id)
    ended = command("answer", task_id, "--decline")
    assert ended.code == Exit.USAGE
    assert "say which one" in ended.err
    assert command("answer", task_id, "when", "--accept", "-", stdin='{"day":"2027-03-03","time":"09:00"}').code == 0
    assert command("answer", task_id, "--accept", '{"people": 3}').code == Exit.COMPLETED
    assert command("wait", task_id, "--json").json["result"]["structuredContent"]["room"] == "Anvil"


def test_each_ending_has_its_exit_code(command: Command) -> None:
    assert command("call", "refuse").code == Exit.TOOL_ERROR
    failed = command("call", "break_down", "--json")
    assert (failed.code, failed.json["status"], failed.json["error"]["code"]) == (Exit.FAILED, "failed", -32007)
    task_id = started(command, "loiter", "-a", "seconds=60")
    assert command("status", task_id).code == Exit.COMPLETED
    assert command("cancel", task_id).code == Exit.COMPLETED
    assert command("wait", task_id).code == Exit.CANCELLED
    assert command("status", task_id).code == Exit.CANCELLED


def test_arguments_come_from_pairs_files_and_standard_input(command: Command, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("a,b\n1,2\n3,4\n")
    task_id = started(command, "generate_report", "-a", f"source=@{tmp_path / 'table.csv'}")
    assert "2 rows" in json.dumps(asked(command, task_id))
    task_id = command("call", "loiter", "--json", "-", "--detach", stdin='{"seconds": 0}').out.strip()
    assert command("wait", task_id).out == "done\n"
    both = command("call", "loiter", "--json", '{"seconds": 0}', "--json")
    assert both.json["result"]["content"][0]["text"] == "done"


@pytest.mark.parametrize(
    "arguments",
    [
        ("call", "loiter", "--json", "{"),
        ("call", "loiter", "--json", "[]"),
        ("call", "loiter", "--arg", "seconds"),
        ("call", "loiter", "--arg", "seconds=soon"),
        ("call", "nothing", "--arg", "a=b"),
        ("call", "list_samples", "--save", "/proc/none"),
        ("answer", "x", "--accept", "{", "--decline"),
        ("wait", "no-such-task"),
        ("tools", "--profile", "nothing"),
        ("tools", "--url", "nonsense"),
        ("nothing",),
        ("call",),
    ],
)
def test_what_cannot_be_used_is_told_in_a_sentence(command: Command, arguments: tuple[str, ...]) -> None:
    ended = command(*arguments)
    assert (ended.code, ended.out) == (Exit.USAGE, "")
    assert ended.err.strip().endswith((".", "'."))


@pytest.mark.parametrize("arguments", [("call", "list_samples"), ("wait", "x"), ("resume",)])
def test_json_that_would_leave_content_unsaved_is_refused(command: Command, arguments: tuple[str, ...]) -> None:
    ended = command(*arguments, "--save", ".", "--json")
    assert (ended.code, ended.json["status"]) == (Exit.USAGE, "refused")
    assert "leave out --save" in ended.json["error"]["message"]


def test_a_call_with_wrong_arguments_is_a_tool_error(command: Command) -> None:
    """CALL-1."""
    ended = command("call", "loiter", "--json", '{"seconds": "x"}')
    assert ended.code == Exit.TOOL_ERROR
    assert "seconds" in ended.err


def test_an_unknown_tool_is_refused(command: Command) -> None:
    assert command("call", "nothing").code == Exit.FAILED


@pytest.mark.parametrize("replies", [Raw(401), Raw(200, b"<html>", {"Content-Type": "text/html"}), Error(-32601)])
def test_a_server_that_cannot_be_asked_is_unreachable(command: Command, replies: Raw | Error) -> None:
    with Scripted({"server/discover": replies}) as server:
        for arguments in (("tools",), ("call", "brew"), ("wait", "t-1"), ("discover",)):
            ended = command(*arguments, COATCHECK_URL=server.url)
            assert (ended.code, ended.out) == (Exit.UNREACHABLE, ""), ended
        told = command("tools", "--json", COATCHECK_URL=server.url)
        assert (told.code, told.json["status"]) == (Exit.UNREACHABLE, "unreachable")


def test_nothing_listens(command: Command) -> None:
    ended = command.process("tools", "--url", f"http://127.0.0.1:{free_port()}/mcp")
    assert ended.code == Exit.UNREACHABLE
    assert "Nothing answers" in ended.err


def test_tickets_are_listed_for_people_pipes_and_programs(command: Command) -> None:
    assert command("tickets").out == ""
    task_id = started(command, "loiter", "-a", "seconds=0")
    (line,) = command("tickets").out.splitlines()
    assert line.split("\t")[:2] == [task_id, "loiter"]
    assert [ticket["taskId"] for ticket in command("tickets", "--json").json["tickets"]] == [task_id]
    command("wait", task_id)
    assert command("tickets", "--open").out == ""


def test_a_ticket_can_be_forgotten_and_its_task_goes_on(command: Command, ledger: Ledger) -> None:
    task_id = started(command, "loiter", "-a", "seconds=0")
    ledger.send("s", "brew", "the key", None)
    assert command("tickets", "--forget", task_id, "--json").json["tickets"][0]["idempotencyKey"] == "the key"
    assert command("tickets", "--forget", "the key").out == ""
    assert command("tickets", "--forget", "nothing").code == Exit.USAGE
    assert command("wait", task_id).code == Exit.COMPLETED


def test_a_form_holds_no_objects(command: Command) -> None:
    task_id = started(command, *REPORT[1:])
    asked(command, task_id)
    assert command("answer", task_id, "--accept", '{"approved": {"really": true}}').code == Exit.USAGE
    command("cancel", task_id)


def test_a_ticket_whose_tool_reported_an_error_says_so(command: Command) -> None:
    """K3.10."""
    task_id = started(command, "refuse")
    assert command("wait", task_id).code == Exit.TOOL_ERROR
    (line,) = command("tickets").out.splitlines()
    assert line.split("\t")[:3] == [task_id, "refuse", "completed: tool error"]
    [ticket] = command("tickets", "--json").json["tickets"]
    assert (ticket["status"], ticket["isError"]) == ("completed", True)
    assert command("tickets", "--open").out == ""
    assert command("resume", "--json").json["tickets"] == []


def test_resume_goes_on_with_all_open_tickets(command: Command) -> None:
    done, failing = started(command, "loiter", "-a", "seconds=0"), started(command, "break_down")
    waiting = started(command, *REPORT[1:])
    ended = command("resume", "--json")
    assert ended.code == Exit.INPUT_NEEDED
    outcomes = {outcome["taskId"]: outcome["status"] for outcome in ended.json["tickets"]}
    assert outcomes == {done: "completed", failing: "failed", waiting: "input_required"}
    assert [ticket["taskId"] for ticket in command("resume", "--json").json["tickets"]] == [waiting]


def test_resume_repeats_a_call_whose_ticket_never_came(command: Command, ledger: Ledger, platform: object) -> None:
    url = command.env["COATCHECK_URL"]
    ledger.send(url, "loiter", "kept", '{"seconds": 0}')
    ledger.send(url, "loiter", "not kept", None)
    ended = command("resume")
    assert ended.out == "done\n"
    assert "--idempotency-key 'not kept'" in ended.err
    assert ended.code != Exit.COMPLETED


def test_resume_bears_a_server_that_is_away(command: Command, ledger: Ledger) -> None:
    """Only in part: another server's tickets are still seen to."""
    here = started(command, "loiter", "-a", "seconds=0")
    with Scripted({"tools/call": created(), "tasks/get": [Hangup(), Raw(503), Result(task("cancelled"))]}) as server:
        assert command("call", "brew", "--detach", COATCHECK_URL=server.url).out == "t-1\n"
        ended = command("resume", "--json")
    outcomes = {outcome["taskId"]: outcome["status"] for outcome in ended.json["tickets"]}
    assert outcomes == {here: "completed", "t-1": "cancelled"}


def test_an_interrupt_detaches_and_tells_how_to_come_back(command: Command, ledger: Ledger) -> None:
    with command.start("call", "loiter", "--arg", "seconds=60") as process:
        wait_until(lambda: any(entry.task_id for entry in ledger.entries()), 20, "the ticket")
        assert process.stderr is not None
        for line in iter(process.stderr.readline, b""):
            if b"loiter: " in line:
                break
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
    (entry,) = ledger.entries()
    assert process.returncode == Exit.DETACHED
    assert f"coatcheck wait {entry.task_id}" in err.decode()
    assert command("status", entry.task_id).out.split()[1].startswith("working")
    command("cancel", entry.task_id)


def test_a_damaged_ledger_is_told_and_work_goes_on(command: Command, ledger: Ledger) -> None:
    ledger.path.write_bytes(b"damaged " * 200)
    ended = command.process("call", "loiter", "--arg", "seconds=0")
    assert (ended.code, ended.out) == (Exit.COMPLETED, "done\n")
    assert "It is kept as" in ended.err


def test_a_ledger_that_cannot_be_written_stops_the_call_before_it_goes_out(command: Command, home: Path) -> None:
    (home / "file").touch()
    ended = command("call", "loiter", "--arg", "seconds=0", COATCHECK_LEDGER=str(home / "file" / "tickets.db"))
    assert ended.code == Exit.USAGE
    assert "COATCHECK_LEDGER" in ended.err


def test_the_doctor_finds_what_is_wrong(command: Command, home: Path) -> None:
    assert command("doctor").code == Exit.COMPLETED
    checks = command("doctor", "--json", "--url", f"http://127.0.0.1:{free_port()}/mcp")
    assert checks.code == Exit.UNREACHABLE
    assert {name: check["ok"] for name, check in checks.json["checks"].items()} == {"ledger": True, "server": False}
    with Scripted({}) as server:
        assert "wrong tools" in command("doctor", COATCHECK_URL=server.url).out


def test_discover_shows_what_the_server_says(command: Command) -> None:
    assert "2026-07-28" in command("discover").out
    assert command("discover", "--json").json["supportedVersions"] == ["2026-07-28"]


def test_a_result_reaches_a_pipe_as_it_is(command: Command) -> None:
    """A pipe is no terminal: nothing is taken out of what a program may want to have."""
    assert "\x1b[2J" in command("call", "disguise").out


def test_a_tool_with_a_slash_in_its_name_has_its_content_saved(command: Command, tmp_path: Path) -> None:
    picture = {"type": "image", "data": base64.b64encode(b"dots").decode(), "mimeType": "image/png"}
    result = Result({"resultType": "complete", "content": [{"type": "text", "text": "drawn"}, picture]})
    with Scripted({"tools/call": [result]}) as server:
        ended = command("call", "charts/draw", "--save", str(tmp_path), COATCHECK_URL=server.url)
    assert (ended.code, ended.out) == (Exit.COMPLETED, "drawn\n")
    assert (tmp_path / "charts-draw-2.png").read_bytes() == b"dots"


def test_the_text_of_a_result_is_not_lost_with_a_file_that_cannot_be_written(command: Command, tmp_path: Path) -> None:
    (tmp_path / "draw-2.png").mkdir()
    picture = {"type": "image", "data": base64.b64encode(b"dots").decode(), "mimeType": "image/png"}
    result = Result({"resultType": "complete", "content": [{"type": "text", "text": "drawn"}, picture]})
    with Scripted({"tools/call": [result]}) as server:
        ended = command("call", "draw", "--save", str(tmp_path), COATCHECK_URL=server.url)
    assert (ended.code, ended.out) == (Exit.USAGE, "drawn\n")
    assert "draw-2.png cannot be written: Is a directory" in ended.err


def test_a_reader_that_leaves_early_is_no_error(command: Command) -> None:
    with command.start("tools", "--json") as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_its_completion_script(command: Command, shell: str) -> None:
    assert "_COATCHECK_COMPLETE" in command("completion", shell).out


def test_ids_and_tools_of_the_ledger_are_completed(command: Command, ledger: Ledger) -> None:
    ledger.send("s", "brew", "k", None)
    ledger.keep_ticket("s", "k", "abc-123", "working", None)

    def completed(line: str, words: int) -> str:
        words_env = {"_COATCHECK_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(words)}
        return command.process(**words_env).out

    assert "abc-123" in completed("coatcheck wait ab", 2)
    assert "brew" in completed("coatcheck call b", 2)
    assert "tickets" in completed("coatcheck ti", 1)


def test_help_needs_no_server_and_little_time() -> None:
    """Importing the SDK for it would take a second."""
    code = "import sys; sys.argv = ['coatcheck', '--help']; from coatcheck.client.command import main\n"
    code += "try: main()\nexcept SystemExit: pass\nprint('mcp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.endswith("False\n")


def test_an_id_that_begins_with_a_dash_is_told_as_it_has_to_be_typed(command: Command) -> None:
    """Other servers make such ids."""
    begun = Result(created().value | {"taskId": "-t"})
    with Scripted({"tools/call": begun, "tasks/get": asking("q")}) as server:
        ended = command("call", "brew", COATCHECK_URL=server.url)
        assert "  coatcheck answer -- -t" in ended.err.splitlines()
        assert command("status", "--", "-t", COATCHECK_URL=server.url).code == Exit.INPUT_NEEDED
