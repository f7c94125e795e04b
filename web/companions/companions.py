"""The companions that a deployment wants."""

from collections.abc import Callable

from web.auth.scopes import Scopes
from web.calls import Calls
from web.companions import list_tasks, task_answer, task_status
from web.companions.definition import served
from web.companions.lookup import Lookup
from web.connections import Connections
from web.jobs import Jobs
from web.limits import Limits
from web.served import Served
from web.settings import Settings
from workers.tool import Catalogue


def companions(
    catalogue: Catalogue,
    settings: Settings,
    connections: Callable[[], Connections],
    jobs: Jobs,
    calls: Calls,
    scopes: Scopes,
    limits: Limits,
) -> list[Served]:
    """The tools that the settings name, about the tasks of the tools in this catalogue."""
    lookup = Lookup(connections, scopes)
    lists = list_tasks.ListTasks(catalogue, connections, scopes, settings.auth.operator_scope)
    status = task_status.TaskStatus(connections, calls, lookup, limits, settings.web.sync_ms / 1000)
    answer = task_answer.TaskAnswer(lookup, jobs)
    every = (
        served(lists.list_tasks, settings.workers, list_tasks.DEFINITION),
        served(status.task_status, settings.workers, task_status.DEFINITION),
        served(answer.task_answer, settings.workers, task_answer.DEFINITION),
    )
    return [one for one in every if one.name in settings.web.companions]
