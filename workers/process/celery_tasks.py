"""Register the Celery tasks of a worker: one for each tool, and *accept* for the header of resume chords."""

from collections.abc import Mapping
from typing import Any, Final

from celery import Celery

from coatcheck.workers.messages.celery_app import ACCEPT
from coatcheck.workers.process.lost_processes import requests_of
from coatcheck.workers.runs.lease import HARD_LIMIT_GRACE_SECONDS
from coatcheck.workers.runs.resume import accept
from coatcheck.workers.runs.runner import Runner
from coatcheck.workers.toolkit.tool import Catalogue, Tool

OURS: Final[dict[str, Any]] = {
    "ignore_result": True,
    "acks_late": False,
    "reject_on_worker_lost": False,
    "store_errors_even_if_ignored": False,
    "track_started": False,
    "serializer": "json",
}
"""Options of our Celery tasks, which override the settings of the application. A redelivered message would meet a live
run; and the record holds the outcome, not the result backend."""


def register(app: Celery, catalogue: Catalogue, runner: Runner, base: Any = None) -> None:
    """Register a Celery task for each tool of the catalogue, with the class `base` if one is given."""
    options = {**OURS, "base": base}
    request = requests_of(runner)
    for tool in catalogue:
        _register_tool(app, tool, runner, {**options, "Request": request})
    store = runner.store

    @app.task(name=ACCEPT, **options)
    def accept_answer(task_id: str, input_key: str) -> str:
        return accept(store, task_id, input_key)


def _register_tool(app: Celery, tool: Tool, runner: Runner, options: Mapping[str, Any]) -> None:
    limits: dict[str, float] = {}
    if tool.time_limit_ms is not None and tool.exposed is None:
        soft = tool.time_limit_ms / 1000
        limits = {"soft_time_limit": soft, "time_limit": soft + HARD_LIMIT_GRACE_SECONDS}

    def run_tool(task_id: str) -> str:
        return runner.run(tool, task_id)

    all_options: dict[str, Any] = {"name": tool.celery_name, **options, **limits}
    app.task(**all_options)(run_tool)
