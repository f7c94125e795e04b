"""Kills the processes when the launcher itself is killed."""

import subprocess
from types import TracebackType
from typing import Self

# The shell reads process groups until the launcher, the only writer, is gone. Released in time, it never gets there.
_SCRIPT = 'groups=; while read -r group; do groups="$groups -$group"; done; kill -s KILL -- $groups'


class ProcessGroupGuard:
    """A shell beside the launcher that kills the added process groups if the launcher is killed.

    Without it, `kill -9` would leave web, worker and Redis running.
    """

    def __enter__(self) -> Self:
        self._shell = subprocess.Popen(
            ["/bin/sh", "-c", _SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            text=True,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._shell.kill()
        self._shell.communicate()

    def add(self, group: int) -> None:
        """Add a process group."""
        assert self._shell.stdin is not None
        self._shell.stdin.write(f"{group}\n")
        self._shell.stdin.flush()
