"""Commands that are programs of the server.

They run as programs, because this folder knows only the wire. Their options are named here too, so that help and
completion know them.
"""

import subprocess
import sys
from collections.abc import Iterable

import click


def hand_on(module: str, arguments: Iterable[str]) -> None:
    """The module has run with these arguments, and its exit code is the command's."""
    done = subprocess.run([sys.executable, "-m", module, *arguments], check=False)
    click.get_current_context().exit(done.returncode)
