"""Tools about tasks, for hosts without task support: `list_tasks`, `task_status`, `task_answer`."""
