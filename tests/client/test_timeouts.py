"""How long a wait bears a server that is not there, and how long it may last."""

import threading

import pytest

from coatcheck.client import Coatcheck
from coatcheck.client.command.exits import Exit
from coatcheck.client.errors import AnswerLost, Unreachable, WaitedEnough
from coatcheck.client.ledger import SENT, Ledger
from tests.client.command import Command
from tests.client.scripted import Asked, Hangup, Raw, Result, Scripted, asking, completed, created, discovered, task
from tests.support.ports import free_port

WORKS = Result(task(pollIntervalMs=60_000))


@pytest.fixture
def command(ledger: Ledger) -> Command:
    """The command, pointed nowhere."""
    return Command({"COATCHECK_LEDGER": str(ledger.path)})


def test_a_wait_for_a_server_that_was_never_there_says_so_as_other_commands_do(command: Command) -> None:
    """And not after the outage that a wait bears otherwise, which is ten minutes."""
    for arguments in (("tools",), ("status", "zzz"), ("wait", "zzz"), ("call", "brew"), ("cancel", "zzz")):
        ended = command(*arguments, "--url", f"http://127.0.0.1:{free_port()}/mcp")
        assert (ended.code, ended.out) == (Exit.UNREACHABLE, "")
        assert "Nothing answers" in ended.err
        assert "Trying again" not in ended.err


def test_a_wait_for_what_never_answers_has_the_patience_of_other_requests(ledger: Ledger) -> None:
    with (
        Scripted({"server/discover": Hangup()}) as server,
        Coatcheck(server.url, ledger=ledger.path, patience_s=0.3, outage_s=600) as client,
        pytest.raises(AnswerLost),
    ):
        client.ticket("zzz").wait()


def test_the_server_that_gave_a_ticket_is_waited_for(ledger: Ledger) -> None:
    """Also by a process that has not reached it yet."""
    url = f"http://127.0.0.1:{free_port()}/mcp"
    ledger.send(url, "brew", "k", None)
    ledger.keep_ticket(url, "k", "t-1", "working", None)
    tried = threading.Event()
    with (
        Coatcheck(url, ledger=ledger.path, outage_s=1, on_trouble=lambda _fault, _pause_s: tried.set()) as client,
        pytest.raises(Unreachable),
    ):
        client.ticket("t-1").wait()
    assert tried.is_set()


@pytest.mark.parametrize("arguments", [("call", "brew"), ("wait", "t-1"), ("resume",)])
def test_a_wait_lasts_no_longer_than_it_is_told_to(
    command: Command, ledger: Ledger, arguments: tuple[str, ...]
) -> None:
    with Scripted({"tools/call": created(), "tasks/get": WORKS}) as server:
        ledger.send(server.url, "brew", "k", None)
        ledger.keep_ticket(server.url, "k", "t-1", "working", None)
        ended = command(*arguments, "--timeout", "1", COATCHECK_URL=server.url)
        assert (ended.code, ended.out) == (Exit.DETACHED, "")
        assert "coatcheck wait t-1" in ended.err
        told = command(*arguments, "--timeout", "1", "--json", COATCHECK_URL=server.url).json
        assert (told["tickets"][0] if "tickets" in told else told)["status"] == "working"
    assert [entry.status for entry in ledger.entries()] == ["working"]


@pytest.mark.parametrize("away", [Hangup(), Raw(503)])
def test_a_wait_that_ends_while_the_server_is_away_says_that(
    command: Command, ledger: Ledger, away: Hangup | Raw
) -> None:
    with Scripted({"tools/call": created(), "tasks/get": away}) as server:
        ended = command("call", "brew", "--timeout", "1", COATCHECK_URL=server.url)
    assert ended.code == Exit.UNREACHABLE
    assert [entry.status for entry in ledger.entries()] == ["working"]


def test_a_call_that_is_not_answered_in_time_stays_known(command: Command, ledger: Ledger) -> None:
    with Scripted({}) as server:
        answer = threading.Event()

        def hold(_asked: Asked) -> Result:
            answer.wait(60)
            return created()

        with Scripted({"tools/call": hold}) as slow:
            ended = command("call", "brew", "--timeout", "1", COATCHECK_URL=slow.url)
            answer.set()
    assert server.methods() == []
    (entry,) = ledger.entries()
    assert (ended.code, entry.status) == (Exit.UNREACHABLE, SENT)
    assert entry.idempotency_key in ended.err


def test_a_call_that_was_never_sent_in_time_is_not_kept(command: Command, ledger: Ledger) -> None:
    answer = threading.Event()

    def hold(_asked: Asked) -> Result:
        answer.wait(60)
        return discovered()

    with Scripted({"server/discover": hold}) as slow:
        ended = command("call", "brew", "--timeout", "1", COATCHECK_URL=slow.url)
        waited = command("wait", "t-1", "--timeout", "1", COATCHECK_URL=slow.url)
        answer.set()
    assert (ended.code, waited.code) == (Exit.UNREACHABLE, Exit.UNREACHABLE)
    assert ledger.entries() == []


def test_an_answer_that_somebody_gives_is_not_cut_off(ledger: Ledger) -> None:
    """The form is open for longer than the wait was to last; its answer is still sent."""
    scripts = {
        "tools/call": created(),
        "tasks/get": [asking("q"), WORKS],
        "tasks/update": Result({"resultType": "complete"}),
    }
    with Scripted(scripts) as server, Coatcheck(server.url, ledger=ledger.path) as client:
        ticket = client.call("brew")
        seen = threading.Event()

        def answer(_key: str, _request: object) -> object:
            seen.wait(1.5)
            return {"action": "decline"}

        with pytest.raises(WaitedEnough):
            ticket.wait(on_input=answer, timeout_s=1)  # type: ignore[union-attr, arg-type]
        assert len(server.of("tasks/update")) == 1


def test_a_time_out_of_a_callback_is_its_own(ledger: Ledger) -> None:
    def stop(_task: object) -> None:
        raise TimeoutError("mine")

    with (
        Scripted({"tools/call": created(), "tasks/get": completed()}) as server,
        Coatcheck(server.url, ledger=ledger.path) as client,
        pytest.raises(TimeoutError, match="mine"),
    ):
        client.call("brew").wait(on_status=stop, timeout_s=60)  # type: ignore[union-attr]
