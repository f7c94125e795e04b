"""What the subcommands share: the settings, the clients, the ledger, and how they talk to the person."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Self

from mcp_types import InputRequest, InputResponse

from coatcheck.client.errors import InvalidArguments, ServerError
from coatcheck.client.ledger import Entry, Ledger
from coatcheck.client.models import server_name
from coatcheck.client.settings import Settings
from coatcheck.client.sync_client import Coatcheck, Ticket
from coatcheck.client.terminal.form import Asking, FormPerson
from coatcheck.client.terminal.output import TerminalOutput
from coatcheck.client.terminal.progress import LiveLines, NoProgress, Progress, ProgressLines

SHORTEST_PREFIX = 4
"""How much of a task's id has to be typed at least."""


class App:
    """One run of the command. Holds connections until it is left."""

    def __init__(self, settings: Settings, output: TerminalOutput) -> None:
        self.settings = settings
        self.output = output
        self.ledger = Ledger(settings.ledger)
        self.progress: Progress = NoProgress()
        self._clients: dict[str, Coatcheck] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def is_interactive(self) -> bool:
        """There is a person at a terminal who can be asked."""
        is_terminal = sys.stdin.isatty() and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        return is_terminal and not self.output.is_json

    @property
    def client(self) -> Coatcheck:
        """The client of the chosen server."""
        return self.client_of(self.settings.chosen.url)

    def client_of(self, server: str) -> Coatcheck:
        """The client of this server, with the token that is meant for it."""
        if server not in self._clients:
            profile = self.settings.profile_for(server)
            client = Coatcheck(
                server,
                token=profile.token,
                ledger=self.settings.ledger,
                keep_arguments=profile.keep_arguments,
                on_trouble=self._trouble,
            )
            self._clients[server] = self._stack.enter_context(client)
        return self._clients[server]

    def find(self, task_id: str) -> Ticket:
        """The ticket that an id, or the beginning of one in the ledger, names; an unknown id is the chosen server's."""
        matches = [entry for entry in self.ledger.entries() if entry.task_id.startswith(task_id)]
        exact = [entry for entry in matches if entry.task_id == task_id]
        if len(matches) > 1 and not exact:
            raise InvalidArguments(f"{len(matches)} tickets begin with {task_id}; type more of the id.")
        if exact or (matches and len(task_id) >= SHORTEST_PREFIX):
            return self.ticket((exact or matches)[0])
        return self.client.ticket(task_id)

    def ticket(self, entry: Entry) -> Ticket:
        """The ticket of an entry of the ledger."""
        return self.client_of(entry.server).ticket(entry.task_id, entry.tool)

    def ask(self, ticket: Ticket, key: str, request: InputRequest) -> InputResponse | None:
        """The person's answer; None when there is nobody to ask, or who leaves it for later."""
        return self.ask_for(ticket.server, ticket.tool or ticket.task_id, key, request)

    def ask_for(self, server: str, tool: str, key: str, request: InputRequest) -> InputResponse | None:
        """The same for a tool that asks before there is a ticket."""
        if not self.is_interactive:
            return None
        name = server_name(self.client_of(server).discover())
        with self.progress.paused():
            return FormPerson(self.output.notes).ask(Asking(f"{name} at {server}", tool), key, request)

    def _trouble(self, fault: ServerError, pause_s: float) -> None:
        """Whoever watches at that moment is told, not whoever did when the client was made."""
        self.progress.trouble(fault, pause_s)

    @contextmanager
    def watching(self) -> Iterator[None]:
        """What tasks do meanwhile is shown, in the way that the terminal allows."""
        with ExitStack() as stack:
            if self.is_interactive:
                self.progress = stack.enter_context(LiveLines(self.output.notes))
            elif not self.output.is_json:
                self.progress = ProgressLines(self.output.notes)
            try:
                yield
            finally:
                self.progress = NoProgress()
