"""The short form of the chaos test; `make chaos` is the long one."""

import random

from tests.chaos.trial import run_trial


def test_nothing_is_lost_and_nothing_kept_is_done_twice_while_everything_is_killed() -> None:
    """C4, C18, C21, C29, C106"""
    figures = run_trial(seed=random.randrange(1_000_000), seconds=14.0, tasks=45)
    assert figures.has_passed, figures
    assert sum(figures.kills.values()) > 0
