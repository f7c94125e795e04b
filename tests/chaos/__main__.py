"""One trial from the command line: `python -m tests.chaos --seed 7 --seconds 120 --tasks 300`."""

import argparse
import random
import sys
from pathlib import Path

from tests.chaos.trial import run_trial


def main() -> int:
    """The exit code of the trial that the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--seconds", type=float, default=120.0, help="how long things go wrong")
    parser.add_argument("--tasks", type=int, default=300)
    parser.add_argument("--logs", type=Path, help="a folder that gets what the processes printed")
    given = parser.parse_args()
    if given.logs is not None:
        given.logs.mkdir(parents=True, exist_ok=True)
    print(f"seed {given.seed}: {given.tasks} tasks in {given.seconds:g} seconds", flush=True)  # noqa: T201
    figures = run_trial(seed=given.seed, seconds=given.seconds, tasks=given.tasks, logs=given.logs)
    print(figures)  # noqa: T201
    return 0 if figures.has_passed else 1


sys.exit(main())
