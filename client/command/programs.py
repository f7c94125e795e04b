"""Commands that are programs of the server.

They run as programs, because this folder knows only the wire.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import Final, NoReturn

import click

PROGRAM: Final = (
    "import runpy, sys\n"
    "try: runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)\n"
    "except KeyboardInterrupt: sys.exit(130)\n"
)
"""Runs a module as `python -m` does, without a traceback when it is interrupted while it loads its libraries."""

HANDS_ON: Final = {"ignore_unknown_options": True}
"""The settings of a command whose further options are those of a program."""


def hand_on(module: str, arguments: Iterable[str], variables: Mapping[str, str] | None = None) -> None:
    """Run the module with these arguments and further variables, and end with its exit code."""
    environment = {**os.environ, **(variables or {})}
    done = subprocess.run([sys.executable, "-c", PROGRAM, module, *arguments], check=False, env=environment)
    click.get_current_context().exit(done.returncode)


def become(module: str, arguments: Iterable[str], *, needs: Iterable[str] = (), extra: str = "") -> NoReturn:
    """Replace this process by the module's, so that signals and the exit code are its own.

    `extra` is the extra of the distribution that brings the modules in `needs`.
    """
    for name in needs:
        if find_spec(name) is None:
            raise click.UsageError(f"{name} is not installed: pip install 'coatcheck[{extra}]'")
    os.execv(sys.executable, [sys.executable, "-m", module, *arguments])
