"""Commands that are programs of the server.

They run as programs, because this folder knows only the wire. Their options are named here too, so that help and
completion know them.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Mapping

import click


def hand_on(module: str, arguments: Iterable[str], variables: Mapping[str, str] | None = None) -> None:
    """The module has run with these arguments and further variables, and its exit code is the command's."""
    environment = {**os.environ, **(variables or {})}
    done = subprocess.run([sys.executable, "-m", module, *arguments], check=False, env=environment)
    click.get_current_context().exit(done.returncode)
