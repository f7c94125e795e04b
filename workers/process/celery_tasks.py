"""The Celery tasks of a worker: one for each tool, one for the header of the resume chord."""

from typing import Any

from celery import Celery

from coatcheck.workers.messages.celery_app import ACCEPT
from coatcheck.workers.process.lost_processes import RunRequest, requests_of
from coatcheck.workers.runs.lease import HARD_LIMIT_GRACE_SECONDS
from coatcheck.workers.runs.resume import accept
from coatcheck.workers.runs.runner import Runner
from coatcheck.workers.toolkit.tool import Catalogue, Tool


def register(app: Celery, catalogue: Catalogue, runner: Runner) -> None:
    """Every tool of the catalogue is a Celery task of its own name."""
    request = requests_of(runner)
    for tool in catalogue:
        _register_tool(app, tool, runner, request)
    store = runner.store

    @app.task(name=ACCEPT, ignore_result=True)
    def accept_answer(task_id: str, input_key: str) -> str:
        return accept(store, task_id, input_key)


def _register_tool(app: Celery, tool: Tool, runner: Runner, request: type[RunRequest]) -> None:
    limits: dict[str, float] = {}
    if tool.time_limit_ms is not None and tool.exposed is None:
        soft = tool.time_limit_ms / 1000
        limits = {"soft_time_limit": soft, "time_limit": soft + HARD_LIMIT_GRACE_SECONDS}

    def run_tool(task_id: str) -> str:
        return runner.run(tool, task_id)

    options: dict[str, Any] = {"name": tool.celery_name, "ignore_result": True, "Request": request, **limits}
    app.task(**options)(run_tool)
