"""Run a command-line program with defined exit codes."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import NoReturn

OUTPUT_LOST = 1
"""Exit code of a program whose output cannot be written, or is not read any more."""

INTERRUPTED = 130
"""Exit code after Ctrl-C, as in shells."""


def run_program(main: Callable[[], int]) -> NoReturn:
    """Run `main` and exit with its code; silently when the reader of its output has gone.

    An output that cannot be written, as on a full disk, is reported in one line. Characters that the encoding of
    the terminal lacks are escaped.
    """
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the parent process; `print` would use the other one
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
    """Discard buffered output, so that the interpreter does not fail on it at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
