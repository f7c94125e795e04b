"""Create the task tools that the settings name."""

from collections.abc import Callable

from coatcheck.web.access.access_policy import AccessPolicy
from coatcheck.web.settings.web import ServerSettings
from coatcheck.web.streams.connections import Connections
from coatcheck.web.task_tools import list_tasks, task_answer, task_status
from coatcheck.web.task_tools.definition import served_tool
from coatcheck.web.task_tools.lookup import TaskLookup
from coatcheck.web.tool_calls.calls import Calls
from coatcheck.web.tool_calls.served_tools import ServedTool
from coatcheck.workers.toolkit.tool import Catalogue


def task_tools(
    catalogue: Catalogue,
    settings: ServerSettings,
    connections: Callable[[], Connections],
    calls: Calls,
    access_policy: AccessPolicy,
) -> list[ServedTool]:
    """Return the task tools that the settings name, about tasks of the tools in this catalogue."""
    lookup = TaskLookup(connections, access_policy.scopes)
    lists = list_tasks.ListTasks(catalogue, connections, access_policy.scopes, settings.auth.operator_scope)
    status = task_status.TaskStatus(connections, calls, lookup, access_policy.limits, settings.web.sync_ms / 1000)
    answer = task_answer.TaskAnswer(lookup, calls.jobs)
    every = (
        served_tool(lists.list_tasks, settings.workers, list_tasks.LIST_TASKS),
        served_tool(status.task_status, settings.workers, task_status.TASK_STATUS),
        served_tool(answer.task_answer, settings.workers, task_answer.TASK_ANSWER),
    )
    return [one for one in every if one.name in settings.web.companions]
