"""A goal is met up to its limit, and missed past it."""

import pytest

from bench.context import Plan
from bench.figures import Figure, Figures, Reading
from bench.goals import goals
from bench.measures import latency, polls, scale, start, streams, waiting
from bench.servers import BARE, COATCHECK, PEER

FEW, MANY = scale.polls_among(1_000), scale.polls_among(1_000_000)


def is_met(mine: str, value: float, other: str, side: str, beside: float) -> bool:
    """Return whether the only goal about these two figures is met."""
    figures = Figures()
    for what, whose, measured in ((other, side, beside), (mine, COATCHECK, value)):
        # As processor time, a rate is its inverse.
        figures.add(Figure(what, whose, "", (Reading(measured, cpu_ms=1000 / measured, trips=1),)))
    (goal,) = (goal for goal in goals(figures, Plan()) if "round trips" not in goal.text)
    return goal.is_met


@pytest.mark.parametrize(
    ("what", "other", "side", "least"),
    [
        (polls.ONE, polls.ONE, PEER, 3.5),
        (polls.ONE, polls.ONE, BARE, 0.95),
        (polls.MANY, polls.MANY, PEER, 3.5),
        (polls.MANY, polls.MANY, BARE, 0.95),
        (polls.LARGE, polls.LARGE, PEER, 3),
        (latency.POLLS, latency.POLLS, PEER, 8),
        (MANY, FEW, COATCHECK, 1 / 1.1),
    ],
)
def test_a_rate_reaches_its_multiple_of_the_other(what: str, other: str, side: str, least: float) -> None:
    assert is_met(what, 1001 * least, other, side, 1000)
    assert not is_met(what, 999 * least, other, side, 1000)


def test_p99_of_a_poll_while_calls_wait_is_at_most_three_times_its_idle_value() -> None:
    assert is_met(waiting.WAITING_P99, 3, waiting.IDLE_P99, COATCHECK, 1)
    assert not is_met(waiting.WAITING_P99, 3.1, waiting.IDLE_P99, COATCHECK, 1)


@pytest.mark.parametrize(
    ("what", "good", "bad"),
    [
        (streams.DELIVERY, 25, 25.1),
        (streams.STREAM, 12, 12.1),
        (waiting.WAITING, 2_000, 1_999),
        (waiting.MEMORY, 40, 40.1),
        (start.STARTED, 1, 1.01),
        (start.REPLACED, 1, 1.01),
    ],
)
def test_a_figure_stays_within_its_limit(what: str, good: float, bad: float) -> None:
    assert [is_met(what, value, "nothing else", COATCHECK, 1) for value in (good, bad)] == [True, False]
