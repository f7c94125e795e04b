"""The judge of the chaos test finds what must not be: a judge that finds nothing proves nothing."""

from collections.abc import Sequence

from tests.chaos.ledger import Entry, judge


def entries(*lines: tuple[int, int, str]) -> list[Entry]:
    """One task's entries, a second apart: run, process, what."""
    return [Entry("task", run, pid, what, float(at)) for at, (run, pid, what) in enumerate(lines)]


WHOLE: Sequence[tuple[int, int, str]] = (
    (1, 10, "run begun"),
    (1, 10, "one begun"),
    (1, 10, "one ended"),
    (1, 10, "one kept"),
    (1, 10, "run ended"),
)


def test_a_task_that_went_well_is_judged_so() -> None:
    told = judge(entries(*WHOLE), {})
    assert (told.done_twice, told.overlaps, told.interrupted, told.died) == ([], [], 0, 0)


def test_a_step_that_begins_again_after_it_was_kept_was_done_twice() -> None:
    told = judge(entries(*WHOLE, (2, 11, "run begun"), (2, 11, "one begun")), {})
    assert told.done_twice == ["task: step one was kept and began again"]
    assert told.interrupted == 0


def test_a_step_that_begins_again_because_its_run_died_was_interrupted() -> None:
    told = judge(entries((1, 10, "run begun"), (1, 10, "one begun"), (1, 10, "one ended"), *again(2)), {10: [2.5]})
    assert (told.done_twice, told.overlaps, told.interrupted, told.died) == ([], [], 1, 1)
    assert told.recoveries == [0.5]


def test_a_run_that_begins_before_the_one_before_it_noted_its_end_overlaps() -> None:
    lines = [(1, 10, "run begun"), (2, 11, "run begun"), (1, 10, "run ended"), (2, 11, "run ended")]
    assert judge(entries(*lines), {}).overlaps == ["task: run 2 began 1.000 s before run 1 ended"]


def test_a_run_that_begins_before_the_process_of_the_one_before_it_was_killed_overlaps() -> None:
    lines = [(1, 10, "run begun"), (2, 11, "run begun"), (2, 11, "run ended")]
    assert judge(entries(*lines), {10: [1.5]}).overlaps == ["task: run 2 began 0.500 s before run 1 ended"]
    assert judge(entries(*lines), {10: [0.5]}).overlaps == []


def again(run: int) -> list[tuple[int, int, str]]:
    """The entries of a later run that does everything."""
    return [(run, 11, what) for _, _, what in WHOLE]
