"""How a program that prints for a person ends."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import NoReturn

OUTPUT_LOST = 1
"""The exit code of a program whose output nobody reads any more, or cannot be written."""

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells have it."""


def run_program(main: Callable[[], int]) -> NoReturn:
    """End the process with the exit code of `main`; quietly when whoever read its output has left.

    An output that cannot be written, as on a full disk, is told in a line. What the encoding of the terminal lacks is
    shown as an escape.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever started the process; `print` would take the other one
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - for as long as the process lives
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        code = OUTPUT_LOST
    except KeyboardInterrupt:
        code = INTERRUPTED
    except OSError as fault:
        code = OUTPUT_LOST
        with suppress(OSError):
            print(f"The output cannot be used: {fault.strerror or fault}.", file=sys.stderr)  # noqa: T201
    if code == OUTPUT_LOST:
        _give_up_output()
    sys.exit(code)


def _give_up_output() -> None:
    """Send what is still buffered nowhere, so that the end of the process does not stumble over it once more."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
