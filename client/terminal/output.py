"""What a command prints: results on standard output, everything else on standard error."""

import base64
import json
import mimetypes
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click
from mcp_types import (
    AudioContent,
    CallToolResult,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from rich.console import Console
from rich.markdown import Markdown

from coatcheck.client.errors import InvalidArguments
from coatcheck.client.terminal.text import json_line, one_line, safe, size

_HEADING: Final = re.compile(r"#{1,6} \S.*\n\s*\n")
"""How Markdown begins that a tool does not declare as such: with a heading, and an empty line below it."""


@dataclass
class TerminalOutput:
    """One command's output, for people or, with `is_json`, as one JSON object."""

    is_json: bool = False
    save: Path | None = None
    """The folder that images and other binary content is written to."""
    notes: Console = field(default_factory=lambda: Console(stderr=True, highlight=False, markup=False))

    def note(self, text: str) -> None:
        """Something a person may want to know; a program that reads JSON does not hear it."""
        if not self.is_json:
            self.notes.print(safe(text), soft_wrap=True)

    def lines(self, text: str) -> None:
        """A result for people and for pipes."""
        if sys.stdout.isatty():
            click.echo(safe(text))
        else:
            click.echo(text, color=True)  # which takes nothing out

    def heading(self, text: str) -> None:
        """A line that stands out on a terminal."""
        click.secho(safe(text), bold=True)

    def object(self, value: Mapping[str, Any]) -> None:
        """The result as one JSON object on one line."""
        is_unicode = (getattr(sys.stdout, "encoding", None) or "").lower().startswith("utf")
        click.echo(json_line(value, is_ascii=not is_unicode))

    def result(self, tool: str, result: CallToolResult) -> None:
        """The content of a tool's result; what the tool calls an error goes to standard error."""
        texts: list[str] = []
        files: list[tuple[str, str, str]] = []
        is_markdown = False
        stem = re.sub(r"[^\w.-]", "-", tool) or "result"  # some tools have a slash in their name
        for number, block in enumerate(result.content, 1):
            if isinstance(block, TextContent):
                texts.append(block.text)
            elif isinstance(block, ImageContent | AudioContent):
                files.append((f"{stem}-{number}", block.data, block.mime_type))
            elif isinstance(block, ResourceLink):
                texts.append(f"{block.name}: {block.uri}")
            elif isinstance(block.resource, TextResourceContents):
                texts.append(block.resource.text)
                is_markdown = block.resource.mime_type == "text/markdown"
            else:
                files.append((f"{stem}-{number}", block.resource.blob, block.resource.mime_type or ""))
        if not texts and result.structured_content is not None:
            texts.append(json.dumps(result.structured_content, ensure_ascii=False, indent=2))
        text = "\n\n".join(texts)
        if result.is_error:
            self.note(text)
        elif text and (is_markdown or _HEADING.match(text)) and _can_render():
            console = Console(color_system=None if os.environ.get("NO_COLOR") else "auto")
            # No hyperlinks: a link would show its words and hide where it leads.
            console.print(Markdown(safe(text), hyperlinks=False))
        elif text:
            self.lines(text)
        for file in files:  # after the text, which is not lost with a file that cannot be written
            self._binary(*file)

    def _binary(self, name: str, data: str, mime_type: str) -> None:
        try:
            content = base64.b64decode(data)
        except ValueError:
            self.note(f"[{one_line(mime_type) or 'binary content'} that is not base64, and is left out]")
            return
        described = f"{one_line(mime_type) or 'binary content'}, {size(len(content))}"
        if self.save is None:
            self.note(f"[{described}; --save DIR writes it to a file]")
            return
        path = self.save / f"{name}{mimetypes.guess_extension(mime_type) or '.bin'}"
        try:
            path.write_bytes(content)
        except OSError as fault:
            raise InvalidArguments(f"{path} cannot be written: {fault.strerror}.") from fault
        self.note(f"[{described}: {path}]")


def _can_render() -> bool:
    """Return whether a person reads standard output, at a terminal that can show more than plain lines."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
