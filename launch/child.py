"""A process of the platform, with its descendants."""

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress

from coatcheck.launch.console import Console
from coatcheck.launch.events import ChildEnded, Events

LAST_LINES_WAIT_S = 0.5
"""Seconds to wait for the last lines of an ended process: a descendant that left the process group can keep the output
open for ever."""


class Child:
    """A process in its own session, so that Ctrl-C in the terminal reaches the launcher alone.

    Its output goes to the console. When it ends, its remaining descendants are killed, and ChildEnded is reported.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environ: Mapping[str, str],
        console: Console,
        events: Events,
        pass_fds: Sequence[int] = (),
    ) -> None:
        self.name = name
        self._console = console
        self._events = events
        self._process = subprocess.Popen(
            command,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            pass_fds=pass_fds,
        )
        self.group = self._process.pid
        self._relay_thread = threading.Thread(target=self._relay, name=f"relay {name}", daemon=True)
        self._end_thread = threading.Thread(target=self._await_end, name=f"await {name}", daemon=True)
        self._relay_thread.start()
        self._end_thread.start()

    def terminate(self) -> None:
        """Send SIGTERM to the process, but not to its descendants.

        A signal to the whole group would kill the pool of a Celery worker in the middle of its Celery tasks.
        """
        self._process.terminate()

    def kill(self) -> None:
        """Kill the process and its descendants, and reap them."""
        self._kill_group()
        self._end_thread.join()
        self._relay_thread.join(LAST_LINES_WAIT_S)

    def ended_within(self, seconds: float) -> bool:
        """Wait for the process to end and its last line to be written, and tell whether both happened in time."""
        self._end_thread.join(max(seconds, 0))
        if self._end_thread.is_alive():
            return False
        self._relay_thread.join(LAST_LINES_WAIT_S)
        return True

    def _relay(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._console.write_line(self.name, line)

    def _await_end(self) -> None:
        returncode = self._process.wait()
        self._kill_group()
        self._events.put(ChildEnded(self.name, returncode))

    def _kill_group(self) -> None:
        # PermissionError is what macOS says of a group that has only zombies left.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.group, signal.SIGKILL)
