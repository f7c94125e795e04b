"""A ticket outlives whoever asks for it with the wrong token, and a call its server's patience."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from coatcheck.client.command.exits import Exit
from coatcheck.client.ledger import SENT, UNKNOWN, Ledger
from tests.client.command import Command
from tests.client.guarded import guarded
from tests.client.scripted import Error, Result, Scripted, completed, created, task
from tests.support.platform import Platform
from tests.support.waiting import wait_until

Served = tuple[Platform, dict[str, str]]

GOES_ON = Result(
    {
        "resultType": "complete",
        "isError": True,
        "content": [{"type": "text", "text": "It goes on; call again with the same idempotency key for its result."}],
    }
)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Alice and Bob have tokens, and nobody waits long for a call."""
    folder = tmp_path_factory.mktemp("guarded")
    with guarded(folder, "alice", "bob", env={"COATCHECK_SYNC_SECONDS": "0.2"}) as served:
        yield served


@pytest.fixture
def alice(served: Served, ledger: Ledger) -> Command:
    """The command with Alice's token and ledger."""
    platform, tokens = served
    where = {"COATCHECK_URL": platform.url, "COATCHECK_LEDGER": str(ledger.path)}
    return Command({**where, "COATCHECK_TOKEN": tokens["alice"]})


@pytest.fixture
def bob(alice: Command, served: Served) -> Command:
    """The same with Bob's token."""
    return Command({**alice.env, "COATCHECK_TOKEN": served[1]["bob"]})


def started(command: Command, *arguments: str, **env: str) -> str:
    ended = command("call", *arguments, "--detach", **env)
    assert ended.code == Exit.COMPLETED, ended
    return ended.out.strip()


@pytest.mark.parametrize("look", ["status", "wait", "cancel", "answer", "resume"])
def test_a_look_with_the_wrong_token_keeps_the_ticket(alice: Command, bob: Command, ledger: Ledger, look: str) -> None:
    """TASK-10: whose task it is, nobody else is told."""
    task_id = started(alice, "loiter", "-a", "seconds=0")
    looked = bob(look, *([] if look == "resume" else [task_id]))
    assert (looked.code, looked.out) == (Exit.USAGE, "")
    assert "does not know task" in looked.err
    assert f"--forget={task_id}" in looked.err
    assert [(entry.task_id, entry.status) for entry in ledger.entries()] == [(task_id, UNKNOWN)]
    assert "unknown to the server" in alice("tickets").out
    assert alice("tickets", "--open", "--json").json["tickets"][0]["status"] == "unknown"
    resumed = alice("resume", "--json").json["tickets"]
    assert [(outcome["taskId"], outcome["status"]) for outcome in resumed] == [(task_id, "completed")]
    assert [entry.status for entry in ledger.entries()] == ["completed"]


def test_a_look_at_an_ended_task_with_the_wrong_token_leaves_what_was_seen(
    alice: Command, bob: Command, ledger: Ledger
) -> None:
    task_id = started(alice, "loiter", "-a", "seconds=0")
    assert alice("wait", task_id).out == "done\n"
    assert bob("status", task_id).code == Exit.USAGE
    assert [entry.status for entry in ledger.entries()] == ["completed"]
    assert alice("wait", task_id).out == "done\n"


def test_a_program_is_told_that_a_task_is_unknown(alice: Command, bob: Command) -> None:
    task_id = started(alice, "loiter", "-a", "seconds=0")
    (outcome,) = bob("resume", "--json").json["tickets"]
    assert (outcome["taskId"], outcome["status"]) == (task_id, "unknown")


def test_a_server_that_lost_its_data_for_a_while_ends_a_wait_and_not_the_ticket(
    command: Command, ledger: Ledger
) -> None:
    """Restored from a backup, or the wrong one behind the same name."""
    looks = [Result(task()), Error(-32602, "no such task"), completed()]
    with Scripted({"tools/call": created(), "tasks/get": looks}) as server:
        ended = command("call", "brew", COATCHECK_URL=server.url)
        assert ended.code == Exit.USAGE
        assert [entry.status for entry in ledger.entries()] == [UNKNOWN]
        assert command("resume").out == "done\n"


def test_what_is_no_ticket_is_not_said_to_be_kept(alice: Command) -> None:
    assert "kept" not in alice("status", "no-such-task").err


def test_a_ticket_whose_own_time_has_passed_goes_once_its_server_does_not_know_it(
    command: Command, ledger: Ledger
) -> None:
    over = Result(task(ttlMs=1, createdAt="2020-01-01T00:00:00Z", lastUpdatedAt="2020-01-01T00:00:00Z"))
    with Scripted({"tasks/get": [over, Error(-32602, "no such task")]}) as server:
        ledger.send(server.url, "brew", "k", None)
        ledger.keep_ticket(server.url, "k", "t-1", "working", None)
        assert command("status", "t-1", COATCHECK_URL=server.url).code == Exit.COMPLETED
        ended = command("status", "t-1", COATCHECK_URL=server.url)
    assert ended.code == Exit.USAGE
    assert "kept" not in ended.err
    assert not ledger.knows(server.url, "t-1")


def test_a_call_that_its_server_could_not_finish_is_called_again_by_the_command_that_is_shown(
    alice: Command, ledger: Ledger, tmp_path: Path
) -> None:
    """A tool that answers its call itself, which has to be answered before the tool is done."""
    path = tmp_path / "it's there"
    ended = alice("call", "await_file", "--arg", f"path={path}", "--url", alice.env["COATCHECK_URL"])
    assert ended.code == Exit.TOOL_ERROR
    (entry,) = ledger.entries()
    assert (entry.tool, entry.status, entry.task_id) == ("await_file", SENT, "")
    _, _, typed = ended.err.partition("Call again with:\n  coatcheck ")
    again = shlex.split(typed)
    assert entry.idempotency_key in again
    assert "unanswered" in alice("tickets").out
    assert f"--idempotency-key {entry.idempotency_key}" in alice("resume").err
    assert [each.status for each in ledger.entries()] == [SENT]
    path.touch()
    wait_until(lambda: alice(*again).out == "at last\n", 20, "the result")
    assert ledger.entries() == []


def test_a_program_gets_the_key_of_such_a_call(alice: Command, ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "file"
    told = alice("call", "await_file", "--arg", f"path={path}", "--json").json
    (entry,) = ledger.entries()
    assert told["idempotencyKey"] == entry.idempotency_key
    path.touch()


def test_resume_calls_again_when_the_arguments_were_kept(alice: Command, ledger: Ledger, home: Path) -> None:
    path = home / "file"
    (home / "config" / "coatcheck").mkdir(parents=True)
    (home / "config" / "coatcheck" / "profiles.toml").write_text(
        f'[profiles.p]\nurl = "{alice.env["COATCHECK_URL"]}"\nkeep_arguments = true\n'
    )
    assert alice("call", "await_file", "--arg", f"path={path}").code == Exit.TOOL_ERROR
    path.touch()
    wait_until(lambda: alice("resume").out == "at last\n", 20, "the result")
    assert ledger.entries() == []


def test_an_error_that_ends_a_call_leaves_nothing_to_repeat(command: Command, ledger: Ledger) -> None:
    failed = Result({**GOES_ON.value, "content": [{"type": "text", "text": "No tea."}]})
    with Scripted({"tools/call": [GOES_ON, failed]}) as server:
        shown = command("call", "brew", COATCHECK_URL=server.url).err
        assert "coatcheck call --idempotency-key" in shown
        (entry,) = ledger.entries()
        ended = command("call", "brew", "--idempotency-key", entry.idempotency_key, COATCHECK_URL=server.url)
    assert "Call again" not in ended.err
    assert ledger.entries() == []
