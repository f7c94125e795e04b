"""Allow one launcher per data folder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from coatcheck.launch.errors import AlreadyRunning, DataDirUnusable


@contextmanager
def folder_lock(data_dir: Path, holder: str) -> Iterator[int]:
    """Create the data folder with access for this account only, and lock it for the length of the block.

    `holder` describes this launcher to another one. Yields the descriptor of the lock: the lock lasts as long as any
    process has it open, so the embedded Redis inherits it, and its files never get a second writer even if this
    launcher is killed.
    Raises AlreadyRunning and DataDirUnusable.
    """
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(data_dir / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise DataDirUnusable(data_dir, error.strerror or str(error)) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise AlreadyRunning(data_dir, os.pread(descriptor, 200, 0).decode(errors="replace")) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, holder.encode(), 0)
        yield descriptor
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)
