"""The ledger keeps tickets, whatever happens to its processes and its file."""

import os
import signal
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from coatcheck.client import ledger as ledger_module
from coatcheck.client.errors import LedgerBusy, LedgerTooNew, LedgerUnusable
from coatcheck.client.ledger import SENT, UNKNOWN, Entry, Ledger, expires_ms
from tests.support.platform import ROOT
from tests.support.waiting import wait_until

SERVER = "https://coatcheck.example.com/mcp"
HOUR_MS = 3_600_000


def soon() -> int:
    return time.time_ns() // 1_000_000 + HOUR_MS


def only(ledger: Ledger) -> Entry:
    (entry,) = ledger.entries()
    return entry


def keep(ledger: Ledger, key: str = "k", task_id: str = "t", expires: int | None = None) -> None:
    ledger.send(SERVER, "brew", key, None)
    ledger.keep_ticket(SERVER, key, task_id, "working", expires)


def test_a_call_is_known_before_it_is_answered(ledger: Ledger) -> None:
    ledger.send(SERVER, "brew", "k", None)
    entry = only(ledger)
    assert (entry.tool, entry.idempotency_key, entry.task_id, entry.status) == ("brew", "k", "", SENT)
    assert entry.arguments is None


def test_a_call_becomes_a_ticket_and_its_arguments_are_forgotten(ledger: Ledger) -> None:
    ledger.send(SERVER, "brew", "k", '{"tea": "Assam"}')
    assert only(ledger).arguments == '{"tea": "Assam"}'
    expires = soon()
    ledger.keep_ticket(SERVER, "k", "t", "working", expires)
    entry = only(ledger)
    assert (entry.task_id, entry.status, entry.expires_ms, entry.arguments) == ("t", "working", expires, None)


def test_a_call_that_was_answered_at_once_leaves_nothing(ledger: Ledger) -> None:
    ledger.send(SERVER, "brew", "k", None)
    ledger.drop(SERVER, "k")
    assert ledger.entries() == []


def test_a_repeated_call_is_the_same_call_and_keeps_its_ticket(ledger: Ledger) -> None:
    keep(ledger)
    ledger.send(SERVER, "brew", "k", None)
    ledger.drop(SERVER, "k")
    assert only(ledger).task_id == "t"


def test_a_task_that_two_calls_lead_to_has_one_ticket(ledger: Ledger) -> None:
    keep(ledger, "k1")
    keep(ledger, "k2")
    assert only(ledger).idempotency_key == "k2"


def test_the_last_status_is_remembered(ledger: Ledger) -> None:
    keep(ledger)
    ledger.saw(SERVER, "t", "completed", soon())
    assert only(ledger).status == "completed"


def test_a_task_of_another_machine_is_not_taken_in(ledger: Ledger) -> None:
    ledger.saw(SERVER, "foreign", "working", None)
    ledger.answered(SERVER, "foreign", ["q"])
    assert ledger.entries() == []
    assert ledger.answered_keys(SERVER, "foreign") == frozenset()


def test_answered_inputs_are_remembered_until_the_ticket_is_forgotten(ledger: Ledger) -> None:
    keep(ledger)
    ledger.answered(SERVER, "t", ["a", "b"])
    ledger.answered(SERVER, "t", ["a"])
    assert ledger.answered_keys(SERVER, "t") == {"a", "b"}
    ledger.forget(SERVER, "k")
    keep(ledger)
    assert ledger.answered_keys(SERVER, "t") == frozenset()


def test_an_expired_ticket_is_not_shown_and_goes_with_the_next_call(ledger: Ledger) -> None:
    keep(ledger, "old", "old", expires=1)
    keep(ledger, "for ever", "for ever", expires=None)
    assert [entry.task_id for entry in ledger.entries()] == ["for ever"]
    ledger.send(SERVER, "brew", "new", None)
    with sqlite3.connect(ledger.path) as connection:
        assert connection.execute("SELECT count(*) FROM calls").fetchone() == (2,)
    connection.close()


def test_a_ticket_whose_server_does_not_know_it_is_kept_until_its_time_has_passed(ledger: Ledger) -> None:
    assert not ledger.unknown(SERVER, "t")
    now = soon() - HOUR_MS
    keep(ledger, "lives", "lives", expires=soon())
    keep(ledger, "for ever", "for ever")
    keep(ledger, "ended", "ended")
    keep(ledger, "over", "over", expires=now - 1)
    ledger.saw(SERVER, "ended", "failed", soon())
    assert [ledger.unknown(SERVER, each) for each in ("lives", "for ever", "ended", "over")] == [
        True,
        True,
        True,
        False,
    ]
    assert {entry.task_id: entry.status for entry in ledger.entries()} == {
        "lives": UNKNOWN,
        "for ever": UNKNOWN,
        "ended": "failed",
    }


def test_a_clock_that_differs_does_not_forget_a_ticket(ledger: Ledger) -> None:
    keep(ledger, expires=soon() - HOUR_MS - 60_000)
    ledger.send(SERVER, "brew", "another", None)
    assert ledger.knows(SERVER, "t")
    assert "t" in [entry.task_id for entry in ledger.entries()]


def test_a_ticket_expires_with_its_task() -> None:
    assert expires_ms(1_000, 500, is_terminal=False) == 1_500
    assert expires_ms(1_000, None, is_terminal=False) is None
    ended = expires_ms(1_000, None, is_terminal=True)
    assert ended is not None
    assert ended > soon()


def test_only_its_owner_can_read_the_file(ledger: Ledger) -> None:
    keep(ledger)
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600


def test_threads_write_at_the_same_time(ledger: Ledger) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: keep(ledger, f"k{number}", f"t{number}"), range(40)))
    assert {entry.task_id for entry in ledger.entries()} == {f"t{number}" for number in range(40)}


WRITER = """
import sys
from pathlib import Path
from coatcheck.client.ledger import Ledger
ledger = Ledger(Path(sys.argv[1]), lambda kept: print("damaged", flush=True))
print("begins", flush=True)
for number in range(int(sys.argv[3])):
    key = f"{sys.argv[2]}-{number}"
    ledger.send("s", "brew", key, None)
    ledger.keep_ticket("s", key, key, "working", None)
print("ended", flush=True)
"""


def writer(path: Path, name: str, count: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", WRITER, str(path), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": "."})


def test_processes_write_at_the_same_time_from_the_first_moment_on(ledger: Ledger) -> None:
    writers = [writer(ledger.path, str(number), 30) for number in range(4)]
    printed = [process.communicate(timeout=60)[0] for process in writers]
    assert printed == ["begins\nended\n"] * 4
    assert len(ledger.entries()) == 120


def test_a_process_that_is_killed_while_it_writes_leaves_whole_entries(ledger: Ledger) -> None:
    with writer(ledger.path, "k", 100_000) as process:
        wait_until(lambda: ledger.path.exists() and len(ledger.entries()) > 20)
        process.send_signal(signal.SIGKILL)
    before = len(ledger.entries())
    keep(ledger, "after", "after")
    assert len(ledger.entries()) == before + 1


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to be read as a header " * 9, b"short"])
def test_a_damaged_file_is_kept_aside_and_a_new_one_begun(home: Path, content: bytes) -> None:
    path, kept = home / "tickets.db", []
    path.write_bytes(content)
    ledger = Ledger(path, kept.append)
    keep(ledger)
    assert only(ledger).task_id == "t"
    assert [each.read_bytes() for each in kept] == [content]


def test_a_file_that_is_damaged_in_the_middle_is_kept_aside(home: Path) -> None:
    path, kept = home / "tickets.db", []
    ledger = Ledger(path, kept.append)
    for number in range(200):
        ledger.send(SERVER, "brew", f"key number {number}", "x" * 200)
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
    keep(ledger)
    assert only(ledger).task_id == "t"
    assert [each.read_bytes() for each in kept] == [content]


def test_several_processes_keep_a_damaged_file_aside_once(home: Path) -> None:
    path = home / "tickets.db"
    path.write_bytes(b"no database " * 100)
    printed = [process.communicate(timeout=60)[0] for process in [writer(path, str(n), 10) for n in range(4)]]
    assert sum("damaged" in each for each in printed) == 1, printed
    assert len(Ledger(path).entries()) == 40
    assert len(list(home.glob("*.damaged-*"))) == 1


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Another program writes to the file, and takes its time."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    yield
    connection.close()


def test_a_ledger_that_another_program_holds_is_said_to_be_busy(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(ledger)
    monkeypatch.setattr(ledger_module, "BUSY_S", 0.05)
    with held(ledger.path), pytest.raises(LedgerBusy, match="locked by another program"):
        ledger.entries()
    assert only(ledger).task_id == "t"


def test_a_ledger_that_cannot_be_opened_says_why(home: Path) -> None:
    (home / "file").touch()
    with pytest.raises(LedgerUnusable, match="COATCHECK_LEDGER"):
        Ledger(home / "file" / "tickets.db").entries()
    (home / "folder").mkdir()
    with pytest.raises(LedgerUnusable):
        Ledger(home / "folder").entries()


def test_a_ledger_of_a_later_version_is_left_alone(ledger: Ledger) -> None:
    keep(ledger)
    with sqlite3.connect(ledger.path) as connection:
        connection.execute("PRAGMA user_version = 2")
    connection.close()
    before = ledger.path.read_bytes()
    with pytest.raises(LedgerTooNew):
        ledger.entries()
    assert ledger.path.read_bytes() == before
