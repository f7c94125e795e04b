"""FastMCP and its tasks extension, in an environment of its own: our client with its server, its client with ours."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from coatcheck.client import Coatcheck, Ticket, accept
from coatcheck.client.command.exits import Exit
from coatcheck.client.ledger import Ledger
from tests.client.command import Command
from tests.support.platform import Platform
from tests.support.ports import free_port
from tests.support.processes import Process
from tests.support.waiting import wait_until

HERE = Path(__file__).parent / "peer"

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="session")
def peer_python(request: pytest.FixtureRequest) -> Path:
    """The interpreter of an environment with the peer, which is made once and kept for later runs."""
    wanted = (HERE / "requirements.txt").read_bytes() + sys.version.encode()
    folder = request.config.cache.mkdir(f"peer-{hashlib.sha256(wanted).hexdigest()[:12]}")
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--requirement"]
        subprocess.run([*install, str(HERE / "requirements.txt")], check=True)
        (folder / "complete").touch()
    return python


@pytest.fixture(scope="session")
def peer(peer_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the peer."""
    port = free_port()
    command = [str(peer_python), str(HERE / "server.py"), str(port)]
    url = f"http://127.0.0.1:{port}/mcp"
    with Process(command, name="peer", folder=tmp_path_factory.mktemp("peer")) as process:

        def answers() -> bool:
            assert process.is_running, process.log
            try:
                return httpx.get(url, trust_env=False).status_code > 0
            except httpx.TransportError:
                return False

        wait_until(answers, 60, "an answer of the peer")
        yield url


def test_tickets_of_another_server_work(peer: str, ledger: Ledger) -> None:
    with Coatcheck(peer, ledger=ledger.path) as coatcheck:
        assert not isinstance(coatcheck.call("echo", text="at once"), Ticket)
        adding = coatcheck.call("add", a=1, b=2)
        assert isinstance(adding, Ticket)
        assert adding.wait().structured_content == {"result": 3}
        assert [entry.status for entry in ledger.entries()] == ["completed"]


def test_inputs_of_another_server_are_answered_by_another_process(peer: str, ledger: Ledger, command: Command) -> None:
    with Coatcheck(peer, ledger=ledger.path) as coatcheck:
        greeting = coatcheck.call("greet")
        assert isinstance(greeting, Ticket)
        wait_until(greeting.outstanding, 20, "the question")
    assert command("answer", "--accept", '{"name": "Ada"}', "--", greeting.task_id).code == Exit.COMPLETED
    ended = command("resume")
    assert (ended.code, ended.out) == (Exit.COMPLETED, "Hello, Ada!\n")


def test_a_form_of_another_server_is_asked_once(peer: str, ledger: Ledger) -> None:
    asked: list[str] = []

    def answer(key: str, _request: object) -> object:
        asked.append(key)
        return accept(name="Grace")

    with Coatcheck(peer, ledger=ledger.path) as coatcheck:
        greeting = coatcheck.call("greet")
        assert isinstance(greeting, Ticket)
        result = greeting.wait(on_input=answer)  # type: ignore[arg-type]
    assert len(asked) == 1
    assert result.structured_content == {"result": "Hello, Grace!"}


def test_an_error_of_another_server_is_a_tool_error(peer: str, command: Command) -> None:
    assert command("call", "fail", COATCHECK_URL=peer).code == Exit.TOOL_ERROR


def test_a_task_of_another_server_can_be_cancelled(peer: str, command: Command) -> None:
    task_id = command("call", "greet", "--detach", COATCHECK_URL=peer).out.strip()
    assert command("cancel", "--", task_id).code == Exit.COMPLETED
    assert command("wait", "--", task_id).code == Exit.CANCELLED


FILLED_IN = {
    "action": "accept",
    "content": {
        "name": "Ada",
        "email": "ada@example.com",
        "day": "1815-12-10",
        "count": 3,
        "colour": "red",
        "sizes": ["S"],
        "agreed": True,
    },
}


def test_the_client_of_somebody_else_runs_tasks_inputs_and_failures_unmodified(
    peer_python: Path, platform: Platform
) -> None:
    """K4.9: it polls without `Mcp-Name`."""
    command = [str(peer_python), str(HERE / "caller.py"), platform.url]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    outcomes = json.loads(ran.stdout)
    assert {"fill_in", "generate_report", "loiter"} <= set(outcomes.pop("tools"))
    assert [outcomes.pop(name)["structured"] for name in ("asked", "handle asked")] == [FILLED_IN] * 2
    assert outcomes.pop("declined")["structured"] == {"action": "decline", "content": {}}
    assert outcomes == {
        "completed": {"texts": ["done"], "structured": None},
        "tool error": {"error": "There is no more tea."},
        "failed": {"error": "The kettle is gone"},
        "status": "working",
        "cancelled": "cancelled",
        "cannot be asked": {"error": "The client must declare the capability elicitation.form on this request"},
    }
