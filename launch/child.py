"""One process of the platform, together with all that it starts."""

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress

from coatcheck.launch.console import Console
from coatcheck.launch.events import ChildEnded, Events

LAST_LINES_WAIT_S = 0.5
"""How long the last lines of an ended process are waited for: a process that slipped out of the group may hold its
output open for ever."""


class Child:
    """A running process in a session of its own, so that a Ctrl-C in the terminal reaches the launcher alone.

    Its lines go to the console. When it ends, whatever it has left behind is killed, and ChildEnded is reported.
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
        """The process itself is asked to stop; what it started is left to it.

        A signal to the whole group would kill the pool of a Celery worker in the middle of its Celery tasks.
        """
        self._process.terminate()

    def kill(self) -> None:
        """The process and all that it started are killed, and reaped."""
        self._kill_group()
        self._end_thread.join()
        self._relay_thread.join(LAST_LINES_WAIT_S)

    def ended_within(self, seconds: float) -> bool:
        """Whether the process has ended and its last line is written, once that is so or the time is up."""
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
