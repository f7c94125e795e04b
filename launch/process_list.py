"""The processes of the platform: those of every deployment, or those that a Procfile lists."""

import shlex
import sys
from pathlib import Path
from typing import Final

from honcho.environ import parse_procfile

from coatcheck.launch.errors import ProcfileUnusable

RELEASE_ENTRY = "release"
"""The entry that is not a process: a platform runs it before a new version starts."""

RELOADING: Final = ("web", "worker")
"""The processes that have tools in them."""

RELOAD_WAIT_S: Final = 10
"""What a process has for finishing its work before it is restarted."""


def process_list(*, reloads: bool) -> dict[str, str]:
    """Return the command line of web, worker and Flower, by name.

    With `reloads`, web and worker are restarted when a Python file below the current folder changes; one that could not
    start, because of such a file, is started again then.
    """
    python = shlex.quote(sys.executable)
    processes = {name: f"{python} -m coatcheck {name}" for name in ("web", "worker", "flower")}
    if reloads:
        for name in RELOADING:
            command = shlex.quote(processes[name])
            options = f"--filter python --verbosity warning --sigint-timeout {RELOAD_WAIT_S}"
            processes[name] = f"{python} -m watchfiles {options} {command} ."
    return processes


def read_procfile(path: Path) -> dict[str, str]:
    """Return the command line of each process by name, in the order of the file, without the release entry.

    Raises ProcfileUnusable.
    """
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise ProcfileUnusable(path, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise ProcfileUnusable(path, "it is not UTF-8 text") from error
    processes: dict[str, str] = dict(parse_procfile(text).processes)
    processes.pop(RELEASE_ENTRY, None)
    if not processes:
        raise ProcfileUnusable(path, "it lists no process")
    for name, command in processes.items():
        if not _is_one_command(command):
            # Signals would reach a shell that does not hand them on.
            raise ProcfileUnusable(path, f"{name} must be one command, without ; & or |")
    return processes


def _is_one_command(command: str) -> bool:
    try:
        words = list(shlex.shlex(command, posix=True, punctuation_chars=";&|"))
    except ValueError:
        return False
    return not any(set(word) <= set(";&|") for word in words if word)
