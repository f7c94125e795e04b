"""Tools by which a model follows tasks, for hosts that know none: `list_tasks`, `task_status`, `task_answer`."""
