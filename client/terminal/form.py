"""Puts what a task asks before the person at the terminal.

Source: client/elicitation, "User Interaction Model": who asks is shown, declining is always offered, and an answer can
be looked over and changed before it is sent.
"""

import webbrowser
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult, InputRequest
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from coatcheck.client.answers import accept, cancel, decline
from coatcheck.client.terminal.fields import Field, fields_of
from coatcheck.client.terminal.prompts import Prompts
from coatcheck.client.terminal.text import one_line, safe

Choice = Literal["send", "change", "open", "shown", "back", "decline", "cancel", "later"]

LEAVE: tuple[tuple[str, Choice], ...] = (
    ("Decline: say no", "decline"),
    ("Cancel: leave the question without a choice", "cancel"),
    ("Later: leave it open and go", "later"),
)
"""What can be chosen instead of an answer, always."""


@dataclass(frozen=True, slots=True)
class Asking:
    """Who asks."""

    server: str
    """Its name for itself, which proves nothing, and its address."""
    tool: str


class FormPerson:
    """The person at this terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._prompts = Prompts()

    def ask(self, asking: Asking, key: str, request: InputRequest) -> ElicitResult | None:
        """The person's answer; None to leave it for later, or when this cannot be asked of a person here."""
        if not isinstance(request, ElicitRequest):
            self._console.print(
                f"{one_line(asking.tool)} asks for {request.method}, which cannot be answered at a terminal."
            )
            return None
        params = request.params
        title = Text(f"{one_line(asking.tool)} of {one_line(asking.server)} asks")
        subtitle = Text(f"{one_line(key)} · Ctrl-C to decline, cancel or leave it")
        self._console.print(Panel(Text(safe(params.message)), title=title, subtitle=subtitle))
        if isinstance(params, ElicitRequestURLParams):
            return self._ask_page(params)
        return self._ask_form(params)

    def _ask_form(self, params: ElicitRequestFormParams) -> ElicitResult | None:
        fields = fields_of(params.requested_schema)
        values: dict[str, Any] = {}
        while True:
            for field in fields:
                if field.name not in values:
                    try:
                        values[field.name] = self._ask_field(field, field.default)
                    except KeyboardInterrupt:
                        break
            is_filled = len(values) == len(fields)
            choice = self._review(fields, values) if is_filled else self._choose("", ("Back to the form", "back"))
            if choice == "send":
                return accept(**{name: value for name, value in values.items() if value is not None})
            if choice == "change":
                field = self._prompts.choose("Which one?", [(field.label, field) for field in fields])
                with suppress(KeyboardInterrupt):
                    values[field.name] = self._ask_field(field, values[field.name])
            elif choice != "back":
                return _without_content(choice)

    def _review(self, fields: tuple[Field, ...], values: Mapping[str, Any]) -> Choice:
        table = Table.grid(padding=(0, 2))
        for field in fields:
            table.add_row(Text(field.label, style="bold"), Text(safe(field.shown(values[field.name]))))
        self._console.print(table)
        change: tuple[tuple[str, Choice], ...] = (("Change something", "change"),) if fields else ()
        return self._choose("Send this?", ("Send", "send"), *change)

    def _ask_page(self, params: ElicitRequestURLParams) -> ElicitResult | None:
        """Nothing is opened before the person has seen whose page it is."""
        parts = urlsplit(params.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            self._console.print(Text(f"It wants you to open {one_line(params.url)}, which is not a page of the web."))
            return _without_content(self._choose(""))
        self._console.print(Text(f"It wants you to open a page of {parts.hostname}:\n{one_line(params.url)}"))
        offered: tuple[tuple[str, Choice], ...] = (("Open it in the browser", "open"), ("I open it myself", "shown"))
        choice = self._choose(f"Open the page of {parts.hostname}?", *offered)
        if choice == "open" and not _is_opened(params.url):
            self._console.print("No browser could be started here; open the address above yourself.")
        return accept() if choice in ("open", "shown") else _without_content(choice)

    def _choose(self, label: str, *first: tuple[str, Choice]) -> Choice:
        return self._prompts.choose(label or "What now?", [*first, *LEAVE])

    def _ask_field(self, field: Field, value: Any) -> Any:
        if field.description:
            self._console.print(Text(field.description, style="dim"))
        if field.kind == "boolean":
            return self._ask_boolean(field, value)
        if field.kind == "choice":
            offered: list[tuple[str, str | None]] = [(choice.title, choice.value) for choice in field.choices]
            if not field.is_required:
                offered.append(("(leave out)", None))
            return self._prompts.choose(field.label, offered, value)
        if field.kind == "choices":
            titled = [(choice.title, choice.value) for choice in field.choices]
            chosen = self._prompts.choose_some(field.label, titled, value or (), field.check_count)
            return chosen if chosen or field.is_required else None
        return field.parse(self._prompts.text(field.label, field.hint, _typed(value), field.parse))

    def _ask_boolean(self, field: Field, value: Any) -> bool | None:
        if field.is_required or value is not None:
            return self._prompts.confirm(field.label, default=bool(value))
        offered: list[tuple[str, bool | None]] = [("Yes", True), ("No", False), ("(leave out)", None)]
        return self._prompts.choose(field.label, offered, value)


def _is_opened(url: str) -> bool:
    """Return whether a browser was started."""
    try:
        return webbrowser.open(url)
    except (webbrowser.Error, ValueError):  # BROWSER cannot be read
        return False


def _without_content(choice: Choice) -> ElicitResult | None:
    if choice == "later":
        return None
    return decline() if choice == "decline" else cancel()


def _typed(value: Any) -> str:
    """The value as it would be typed."""
    return "" if value is None else str(value)
