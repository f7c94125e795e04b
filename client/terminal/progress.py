"""Shows what tasks are doing while somebody waits for them."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime
from typing import Protocol

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from coatcheck.client.errors import ServerError
from coatcheck.client.models import Task
from coatcheck.client.terminal.text import clock, one_line, safe

WORDS = {"working": "working", "input_required": "waits for input", "failed": "failed", "cancelled": "cancelled"}


BAR_WIDTH = 20
"""In characters."""


class Progress(Protocol):
    """Somebody who watches."""

    def see(self, tool: str, task: Task) -> None:
        """The task's state is shown, if it says anything new."""

    def trouble(self, fault: ServerError, pause_s: float) -> None:
        """The server does not answer at the moment. Called from any thread."""

    def paused(self) -> AbstractContextManager[None]:
        """The terminal is free for something else."""


class NoProgress:
    """Nobody watches."""

    def see(self, tool: str, task: Task) -> None:
        """Nothing is shown."""

    def trouble(self, fault: ServerError, pause_s: float) -> None:
        """Nothing is shown."""

    def paused(self) -> AbstractContextManager[None]:
        """The terminal is free anyway."""
        return nullcontext()


class ProgressLines:
    """A line for each change."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._said: dict[str, str] = {}
        self._is_away = False

    def see(self, tool: str, task: Task) -> None:
        """The task's message, when it is another one."""
        self._is_away = False
        said = _message(task)
        if self._said.get(task.task_id) != said:
            self._said[task.task_id] = said
            self._console.print(f"{_name(tool, task)}: {said}", soft_wrap=True)

    def trouble(self, fault: ServerError, pause_s: float) -> None:
        """Said once for each outage."""
        if not self._is_away:
            self._is_away = True
            self._console.print(_trying_again(fault), soft_wrap=True)

    def paused(self) -> AbstractContextManager[None]:
        """Lines are in nobody's way."""
        return nullcontext()


class LiveLines:
    """One line for each task, which changes in place, with the time since the task began."""

    def __init__(self, console: Console) -> None:
        self._tasks: dict[str, tuple[str, Task]] = {}
        self._spinner = Spinner("dots")
        self._asking = Spinner("dots", "Asking the server")
        self._trouble = ""
        self._live = Live(self, console=console, transient=True, refresh_per_second=8)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table.grid(padding=(0, 1))
        now = datetime.now(UTC)
        for tool, task in list(self._tasks.values()):
            if not task.is_terminal:
                name = Text(_name(tool, task), style="bold", no_wrap=True)
                passed = Text(clock(now - task.created_at), style="dim", no_wrap=True)
                message = Text(_message(task), no_wrap=True, overflow="ellipsis")
                table.add_row(self._spinner, name, _bar(task), message, passed)
        yield table if self._tasks else self._asking
        if self._trouble:
            yield Text(self._trouble, style="yellow")

    def see(self, tool: str, task: Task) -> None:
        """The task's line shows its message."""
        self._trouble = ""
        self._tasks[task.task_id] = (tool, task)

    def trouble(self, fault: ServerError, pause_s: float) -> None:
        """A line tells of the outage, until something is seen again."""
        self._trouble = _trying_again(fault)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """The lines are gone for as long as something else is shown."""
        self._live.stop()
        try:
            yield
        finally:
            self._live.start()

    def __enter__(self) -> "LiveLines":
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()


def _name(tool: str, task: Task) -> str:
    return one_line(tool or task.task_id)


def _trying_again(fault: ServerError) -> str:
    return safe(f"{fault} Trying again.")


def _bar(task: Task) -> RenderableType:
    """Return how far the task has come, as a bar where a total is known."""
    if task.status != "working" or task.progress is None:
        return ""
    done, total = task.progress
    return ProgressBar(total=total, completed=done, width=BAR_WIDTH)


def _message(task: Task) -> str:
    return one_line(task.status_message or "") or WORDS.get(task.status, task.status)
