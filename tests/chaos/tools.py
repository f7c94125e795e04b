"""The tool whose tasks go through the chaos: three steps, one input, each of its moves in the ledger."""

import os
import random
import time
from dataclasses import dataclass

from coatcheck import Context, Elicit, tool
from tests.chaos.ledger import Ledger

STEP_SECONDS = (0.02, 0.25)
"""How long a step takes, at least and at most."""

INPUT = "number"
"""The key of the one input, and the name of what is given in it."""


@dataclass(frozen=True, slots=True)
class Errand:
    """What came of it: the number it was sent with, the one it was answered with, and the results of its steps."""

    number: int
    answer: int
    steps: list[int]


@tool(max_runs=1_000)
def errand(ctx: Context, number: int) -> Errand:
    """Does two steps, asks for a number, and does the third."""
    ledger = Ledger.of_environment()

    def note(what: str) -> None:
        ledger.note(ctx.task_id, ctx.run_number, os.getpid(), what)

    def step(name: str, result: int) -> int:
        def work() -> int:
            note(f"{name} begun")
            time.sleep(random.uniform(*STEP_SECONDS))
            note(f"{name} ended")
            return result

        kept = ctx.step(name, work)
        note(f"{name} kept")
        return kept

    note("run begun")
    try:
        steps = [step("one", number + 1), step("two", number + 2)]
        answer = ctx.ask(INPUT, Elicit("Which number?", {INPUT: int})).content[INPUT]
        steps.append(step("three", number + 3))
    finally:
        note("run ended")
    return Errand(number, answer, steps)
