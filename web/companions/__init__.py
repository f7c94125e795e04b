"""Tools about tasks, for hosts that know no tasks: the front door serves them itself, to whoever owns the tasks."""

from web.companions.companions import companions

__all__ = ["companions"]
