"""`coatcheck token` and `coatcheck check` are programs of the server, with help of their own."""

import os
import re
import signal
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from coatcheck.client.command.exits import Exit
from coatcheck.client.ledger import Ledger
from tests.client.command import Command
from tests.support.platform import ROOT

OPTION = re.compile(r"--[a-z][a-z-]*")


@pytest.fixture
def command(ledger: Ledger) -> Command:
    """The command, pointed nowhere."""
    return Command({"COATCHECK_LEDGER": str(ledger.path)})


@pytest.mark.parametrize(
    ("typed", "program"),
    [(("token", "new"), ("coatcheck.web.operations.tokens", "new")), (("check",), ("coatcheck.web.operations.check",))],
)
def test_the_help_shows_every_option_of_the_program(
    command: Command, typed: tuple[str, ...], program: tuple[str, ...]
) -> None:
    ended = command(*typed, "--help")
    theirs = subprocess.run(
        [sys.executable, "-m", *program, "--help"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert ended.code == Exit.COMPLETED
    assert set(OPTION.findall(theirs.stdout)) <= set(OPTION.findall(ended.out))
    assert len(set(OPTION.findall(theirs.stdout))) > 1


def test_every_option_reaches_the_program(command: Command) -> None:
    ended = command.process(
        "token", "new", "--tenant", "acme", "--scope", "a", "--scope", "b", "--days", "0.5", "--", "-ann"
    )
    assert ended.code == Exit.COMPLETED
    (entry,) = tomllib.loads(ended.out)["token"]
    assert (entry["tenant"], entry["principal"], entry["scopes"]) == ("acme", "-ann", ["a", "b"])
    assert "expires" in entry
    assert "coatcheck_" in ended.err


@pytest.mark.parametrize("arguments", [("check",), ("token", "new", "ann")])
@pytest.mark.parametrize("buffered", ["", "1"])
def test_a_reader_that_leaves_early_is_no_error(command: Command, arguments: tuple[str, ...], buffered: str) -> None:
    """K5.7: such as `head`."""
    with command.start(*arguments, PYTHONUNBUFFERED=buffered, REDIS_URL="redis://127.0.0.1:1/0") as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        said = process.stderr.read().decode()
    assert [line for line in said.splitlines() if "Error" in line or "Traceback" in line] == [], said


def test_an_interrupt_ends_the_check_without_a_word(command: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"redis://127.0.0.1:{silent.getsockname()[1]}/0"
        command_line = [sys.executable, "-u", "-m", "coatcheck.web.operations.check", "--release"]
        with (
            subprocess.Popen(
                command_line,
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "REDIS_URL": address},
            ) as process,
            silent.accept()[0],
        ):
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (Exit.DETACHED, "")


@pytest.mark.parametrize(("arguments", "library"), [(("--help",), "click"), (("check",), "environs")])
def test_an_interrupt_while_libraries_are_loaded_is_no_traceback(
    command: Command, tmp_path: Path, arguments: tuple[str, ...], library: str
) -> None:
    (tmp_path / f"{library}.py").write_text("raise KeyboardInterrupt")
    ended = command.process(*arguments, PYTHONPATH=str(tmp_path))
    assert (ended.code, ended.out, ended.err) == (Exit.DETACHED, "", "")


def test_a_token_is_not_written_into_the_file_when_standard_error_is_closed() -> None:
    command = f"{sys.executable} -m coatcheck.web.operations.tokens new ann 2>&-"
    written = subprocess.run(["sh", "-c", command], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert "coatcheck_" not in written
    assert tomllib.loads(written)["token"]


def test_an_entry_is_utf8_whatever_the_terminal_is() -> None:
    written = subprocess.run(
        [sys.executable, "-m", "coatcheck.web.operations.tokens", "new", "jürgen"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "latin-1"},
    ).stdout
    assert tomllib.loads(written.decode())["token"][0]["principal"] == "jürgen"


def test_the_check_comes_to_its_end_where_the_terminal_lacks_a_character(command: Command) -> None:
    ended = command.process("check", "--release", PYTHONIOENCODING="latin-1", REDIS_URL="redis://127.0.0.1:1/0")
    assert ended.code == 1
    assert re.search(r"^ok +flower ", ended.out, re.MULTILINE), ended.out


def test_a_check_whose_output_is_closed_still_tells_by_its_exit_code() -> None:
    command = f"REDIS_URL=redis://127.0.0.1:1/0 {sys.executable} -m coatcheck.web.operations.check --release >&-"
    ended = subprocess.run(["sh", "-c", command], cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (1, "")


def test_an_output_that_cannot_be_written_is_told_in_a_line(command: Command) -> None:
    """K5.7."""
    with Path("/dev/full").open("w") as full:
        command_line = [sys.executable, "-m", "coatcheck.web.operations.tokens", "new", "ann"]
        ended = subprocess.run(command_line, stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[1:] == ["The output cannot be used: No space left on device."]


@pytest.mark.parametrize(
    "arguments",
    [
        ("new",),
        ("new", "ann", "--days", "nan"),
        ("new", "ann", "--days", "1e9"),
        ("new", "ann", "--days", "-1"),
        ("old",),
    ],
)
def test_what_the_program_could_not_use_is_told(command: Command, arguments: tuple[str, ...]) -> None:
    ended = command.process("token", *arguments)
    assert (ended.code, ended.out) == (Exit.USAGE, "")
    assert ended.err
