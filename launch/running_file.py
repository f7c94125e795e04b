"""Tell other programs of this account where the platform runs."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

RUNNING_FILE = "running.json"
"""Name of the file in the data folder. `coatcheck` reads it, to find the platform that runs from the same folder."""


@contextmanager
def running_file(data_dir: Path, variables: Mapping[str, str]) -> Iterator[None]:
    """Keep a file with the pid of this process and the addresses of the platform for the length of the block.

    Only this account can read it: an address can contain a password.
    """
    path = data_dir / RUNNING_FILE
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump({"pid": os.getpid(), "variables": dict(variables)}, file)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
