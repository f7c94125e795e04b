"""What is typed in bytes that are no text, and output that cannot be written: one line, and no traceback."""

import os
import subprocess
from pathlib import Path

import pytest

from coatcheck.client.command.exits import Exit
from tests.client.command import PYTHON, Command
from tests.support.platform import ROOT


def run(command: Command, *arguments: str | bytes, **streams: object) -> "subprocess.CompletedProcess[bytes]":
    """The command has ended in a process of its own; its arguments may be bytes."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), **command.env}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **streams}
    done: subprocess.CompletedProcess[bytes] = subprocess.run(
        [*PYTHON, *arguments],
        env=env,
        cwd=ROOT,
        timeout=60,
        check=False,
        **streams,  # type: ignore[call-overload]
    )
    assert b"Traceback" not in (done.stderr or b""), done.stderr
    assert b"Exception ignored" not in (done.stderr or b""), done.stderr
    return done


@pytest.mark.parametrize(
    "arguments",
    [
        ("call", "loiter", "--arg", b"seconds=\xff\xfe"),
        ("call", b"loiter\xff"),
        ("call", "loiter", "--json", b'{"seconds": "\xff"}'),
        ("call", "loiter", "--idempotency-key", b"\xff"),
        ("tools", b"\xff"),
        ("tools", "--url", b"http://\xff/mcp"),
        ("wait", b"\xff"),
        ("tickets", "--forget", b"\xff"),
        (b"\xff",),
    ],
)
def test_bytes_that_are_no_text_are_refused_wherever_they_are_typed(
    command: Command, arguments: tuple[str | bytes, ...]
) -> None:
    done = run(command, *arguments)
    assert (done.returncode, done.stdout) == (Exit.USAGE, b"")
    assert done.stderr.splitlines()[-1].startswith(b"Error: Argument")


@pytest.mark.parametrize("typed", ['{"seconds": "\\ud800"}', '{"seconds": NaN}', '{"seconds": 1, "seconds": 2}'])
def test_what_no_json_text_can_carry_is_told_in_a_line(command: Command, typed: str) -> None:
    done = run(command, "call", "loiter", "--json", typed)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (Exit.USAGE, b"", 1)


def test_the_same_on_standard_input(command: Command, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(b'{"seconds": "\xff"}')
    with (tmp_path / "in").open() as stdin:
        done = run(command, "call", "loiter", "--json", "-", stdin=stdin)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (Exit.USAGE, b"", 1)


@pytest.mark.parametrize(
    "typed",
    [("-a", "seconds=NaN"), ("-a", "seconds=1", "-a", "seconds=2"), ("-a", "seconds=1", "--json", '{"seconds": 2}')],
)
def test_a_wrong_argument_is_named_before_anything_is_called(command: Command, typed: tuple[str, ...]) -> None:
    ended = command("call", "loiter", *typed)
    assert (ended.code, ended.out) == (Exit.USAGE, "")
    assert ended.err.startswith("seconds")
    assert command("tickets").out == ""


@pytest.mark.parametrize(
    "arguments",
    [("tools",), ("tools", "--json"), ("--help",), ("call", "--help"), ("tickets", "--json"), ("discover",)],
)
def test_output_that_cannot_be_written_is_told_in_a_line(command: Command, arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        done = run(command, *arguments, stdout=full)
        assert done.returncode == Exit.USAGE
        assert done.stderr.splitlines() == [b"The output cannot be used: No space left on device."]
        assert run(command, *arguments, stdout=full, stderr=full).returncode == Exit.USAGE


def test_streams_that_are_closed_and_encodings_without_a_character_are_no_traceback(command: Command) -> None:
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        shell = ["sh", "-c", f'"$0" "$@" {closed}', *PYTHON, "call", "list_samples"]
        done = subprocess.run(
            shell,
            env={**os.environ, "PYTHONPATH": str(ROOT), **command.env},
            cwd=ROOT,
            capture_output=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == Exit.COMPLETED, done.stderr
        assert b"Traceback" not in done.stderr
    ended = command.process("tools", "généré", PYTHONIOENCODING="ascii")
    assert ended.code == Exit.USAGE
    assert command.process("tools", "--json", PYTHONIOENCODING="ascii").json["tools"]
