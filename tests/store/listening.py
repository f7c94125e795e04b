"""A store that also tells what its scripts replied."""

from collections.abc import Mapping
from typing import Any

from coatcheck.tasks_store import Patience, StoreSettings, TaskStore
from coatcheck.tasks_store.scripts import Argument, Script
from coatcheck.tasks_store.sender import Sender


class ListeningSender(Sender):
    """A sender that keeps the code of each reply."""

    def __init__(self, settings: StoreSettings, patience: Patience) -> None:
        super().__init__(settings, patience)
        self.heard: list[tuple[str, str]] = []

    def send(self, one: Script, named: Mapping[str, str], **args: Argument) -> list[Any]:
        reply = super().send(one, named, **args)
        bare = one.name == "due"
        self.heard.append((one.name, "" if bare else reply[0].decode()))
        return reply


class ListeningStore(TaskStore):
    """A store that keeps the code of each reply."""

    def __init__(self, settings: StoreSettings, patience: Patience) -> None:
        sender = ListeningSender(settings, patience)
        super().__init__(settings, patience, sender)
        self.heard = sender.heard
        """Script and code of each reply, in order; no code for a script that replies with a bare list."""
