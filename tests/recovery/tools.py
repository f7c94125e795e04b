"""Tools that fail in every way we know, or are interrupted in the middle of what they do."""

import asyncio
import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from coatcheck import Context, Elicit, ProtocolError, tool
from coatcheck.tasks_store import arm
from tests.e2e.ledger import Ledger

GO_ON = {"action": "accept", "content": {"sure": True}}
"""The answer to what these tools ask."""


def _step(ctx: Context, name: str, seconds: float = 0.0) -> str:
    """A step that notes its begin and its end."""
    ledger = Ledger.of_environment()

    def work() -> str:
        ledger.note(ctx.task_id, f"{name} begun", ctx.run_number)
        time.sleep(seconds)
        ledger.note(ctx.task_id, f"{name} ended", ctx.run_number)
        return name

    return ctx.step(name, work)


@tool()
def fragile(ctx: Context, fault: str, armed_run: int = 1) -> list[str]:
    """Two steps around an input; a fault point of its process is armed in one of its runs."""
    arm(fault if ctx.run_number == armed_run else "")
    first = _step(ctx, "first")
    ctx.ask("go", Elicit("Go on?", {"sure": bool}))
    return [first, _step(ctx, "second")]


@tool()
def two_steps(ctx: Context, seconds: float = 60.0) -> list[str]:
    """A quick step, then a slow one that nothing interrupts. Only its first run is slow."""
    return [_step(ctx, "quick"), _step(ctx, "slow", seconds if ctx.run_number == 1 else 0.0)]


@tool()
def three_effects(ctx: Context) -> str:
    """A, an input, B, an input, C; dies between B and the second input, in the first run that gets there."""
    _step(ctx, "A")
    ctx.ask("q1", Elicit("First?", {"sure": bool}))
    _step(ctx, "B")
    ledger = Ledger.of_environment()
    if ledger.count(ctx.task_id, "died") == 0:
        ledger.note(ctx.task_id, "died", ctx.run_number)
        os._exit(1)
    ctx.ask("q2", Elicit("Second?", {"sure": bool}))
    return _step(ctx, "C")


@tool(time_limit=timedelta(seconds=1))
def patient(ctx: Context) -> str:
    """Has little time for itself, but may be answered late."""
    Ledger.of_environment().note(ctx.task_id, "before", ctx.run_number)
    ctx.ask("go", Elicit("Go on?", {"sure": bool}))
    time.sleep(0.6)
    return "done"


def must_be_sure(content: dict[str, Any]) -> None:
    """The author's validator of `ask_twice`."""
    if not content["sure"]:
        raise ValueError("Be sure.")


@tool()
def ask_twice(ctx: Context) -> str:
    """Asks for two things at once, one of them with a validator, and notes what follows."""
    ctx.ask_all(
        {
            "one": Elicit("One?", {"sure": bool}, validate=must_be_sure),
            "two": Elicit("Two?", {"sure": bool}),
        }
    )
    Ledger.of_environment().note(ctx.task_id, "after", ctx.run_number)
    return "done"


@tool(time_limit=timedelta(seconds=1))
def swallows_its_limit(ctx: Context) -> str:
    """Catches the sign that its time is over, and returns a little later."""
    try:
        time.sleep(30)
    except Exception:  # noqa: BLE001 - as authors do
        time.sleep(0.2)
    return "late"


@tool(time_limit=timedelta(seconds=1))
def overruns(ctx: Context) -> str:
    """Runs longer than it may, in Python."""
    time.sleep(30)
    return "never"


@tool(time_limit=timedelta(seconds=1))
def reports_on(ctx: Context) -> str:
    """Runs longer than it may, and comes by a checkpoint often."""
    while True:
        time.sleep(0.05)
        ctx.check_cancelled()


@tool(time_limit=timedelta(seconds=1))
def ignores_its_limit(ctx: Context) -> str:
    """Runs longer than it may, and does not hear of it."""
    Ledger.of_environment().note(ctx.task_id, "begun", ctx.run_number)
    while True:
        try:
            time.sleep(30)
        except Exception:  # noqa: BLE001 - as authors do
            continue


class Unpicklable(Exception):
    """Cannot cross from one process to another."""

    def __init__(self, first: object, second: object) -> None:
        super().__init__(object(), b"\xff", set(), lambda: (first, second))


@tool()
def ends_badly(ctx: Context, how: str) -> Any:
    """Ends in the way it is told."""
    Ledger.of_environment().note(ctx.task_id, "begun", ctx.run_number)
    ways: dict[str, Callable[[], Any]] = {
        "memory": lambda: _raise(MemoryError("x")),
        "unpicklable": lambda: _raise(Unpicklable(1, 2)),
        "plain objects": lambda: _raise(Exception(object(), b"\xff", set())),
        "sys.exit": lambda: sys.exit(3),
        "keyboard": lambda: _raise(KeyboardInterrupt()),
        "stray": lambda: _raise(BaseExceptionGroup("several", [asyncio.CancelledError(), ValueError("x")])),
        "os._exit": lambda: os._exit(1),
        "recursion": _recurse,
        "bytes": lambda: b"\xff",
        "set": lambda: {1, 2},
        "nan": lambda: float("nan"),
        "object": object,
        "date": lambda: datetime(2026, 1, 2, tzinfo=UTC),
        "surrogate": lambda: _raise(ProtocolError(-32000, "x \ud800")),
        "wordy": lambda: _raise(ProtocolError(-32000, "x" * 20_000_000)),
        "surrogate progress": lambda: ctx.progress(1, 2, "x \ud800"),
        "wordy progress": lambda: ctx.progress(1, 2, "x" * 20_000_000),
        "progress of nothing": lambda: ctx.progress(float("nan"), 2),
        "numbered step": lambda: ctx.step(cast("str", 1), str),
        "surrogate step": lambda: ctx.step("x \ud800", str),
    }
    return ways[how]()


def _raise(fault: BaseException) -> None:
    raise fault


def _recurse() -> None:
    _recurse()


@tool()
def stubborn(ctx: Context, seconds: float = 60.0) -> str:
    """Goes on after a cancel, and swallows every exception on the way."""
    ledger = Ledger.of_environment()
    ledger.note(ctx.task_id, "begun", ctx.run_number)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            ctx.check_cancelled()
        except BaseException:  # noqa: BLE001 - as authors do
            ledger.note(ctx.task_id, "heard", ctx.run_number)
        time.sleep(0.05)
    return "done"
