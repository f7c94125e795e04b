"""Writes to the terminal."""

import os
import sys
import threading
from datetime import datetime

from honcho.colour import get_colours
from honcho.printer import Message, Printer


class Console:
    """Writes whole lines of many threads to standard output."""

    def __init__(self) -> None:
        self._printer = Printer(sys.stdout)
        self._colours = get_colours()
        self._colour_of: dict[str, str] = {}
        self._lock = threading.Lock()

    def add_process(self, name: str) -> None:
        """Choose a colour for the process, and widen the column of names."""
        self._colour_of[name] = next(self._colours)
        self._printer.width = max(self._printer.width, len(name))

    def write_line(self, name: str, line: bytes) -> None:
        """Write a line of a process, with time and name in front."""
        now = datetime.now().astimezone()
        with self._lock:
            self._write(Message("line", line, now, name, self._colour_of[name]), prefix=True)

    def write(self, text: str) -> None:
        """Write a text of the launcher itself."""
        now = datetime.now().astimezone()
        with self._lock:
            self._write(Message("line", text, now, None, None), prefix=False)

    def _write(self, message: Message, *, prefix: bool) -> None:
        self._printer.prefix = prefix
        try:
            self._printer.write(message)
        except OSError:
            # The reader has gone (`make run | head`, a closed terminal). The processes must not block on lines that
            # nobody reads, so these go nowhere from now on.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
