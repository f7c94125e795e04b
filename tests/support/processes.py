"""Real child processes that a test starts, watches, kills and never leaves behind."""

import atexit
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.waiting import wait_until

_running: set["Process"] = set()


class Process:
    """One child process, leader of a session and process group of its own, its output in a file."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        name: str,
        folder: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        pass_fds: Sequence[int] = (),
    ) -> None:
        self.name = name
        self.log_file = folder / f"{name}.log"
        self._command = list(command)
        self._env = {**os.environ, **(env or {})}
        self._cwd = cwd
        self._pass_fds = tuple(pass_fds)
        self._popen: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """The process runs; what it prints is appended to the log."""
        assert not self.is_running, f"{self.name} runs already"
        with self.log_file.open("ab") as log:
            self._popen = subprocess.Popen(
                self._command,
                env=self._env,
                cwd=self._cwd,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=self._pass_fds,
            )
        _running.add(self)
        return self

    @property
    def pid(self) -> int:
        """The id of the process, which is the id of its group too."""
        assert self._popen is not None, f"{self.name} was never started"
        return self._popen.pid

    @property
    def is_running(self) -> bool:
        """True from the start until the process has exited."""
        return self._popen is not None and self._popen.poll() is None

    @property
    def log(self) -> str:
        """All that the process and its children have printed so far."""
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def wait_for_line(self, text: str, timeout: float = 20.0, after: int = 0) -> None:
        """`text` stands in the log, beyond the first `after` characters."""

        def printed() -> bool:
            assert self.is_running or text in self.log[after:], f"{self.name} exited:\n{self.log[-4000:]}"
            return text in self.log[after:]

        wait_until(printed, timeout, f"{text!r} from {self.name}, which printed:\n{self.log[-4000:]}")

    def wait(self, timeout: float = 20.0) -> int:
        """The process has exited by itself; its return code, negative for a signal."""
        assert self._popen is not None
        return self._popen.wait(timeout)

    def signal(self, number: signal.Signals) -> None:
        """The process, and it alone, has been sent a signal."""
        os.kill(self.pid, number)

    def pause(self) -> None:
        """The process and its children stand still, connections open."""
        os.killpg(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """The process and its children go on."""
        os.killpg(self.pid, signal.SIGCONT)

    def stop(self, timeout: float = 30.0) -> int:
        """The process was asked to end, and did; its return code."""
        if self.is_running:
            self.signal(signal.SIGTERM)
        code = self.wait(timeout)
        _running.discard(self)
        return code

    def kill(self) -> None:
        """The process and its children are gone, without a chance to say so."""
        if self._popen is None:
            return
        with suppress(ProcessLookupError, PermissionError):  # macOS says "not permitted" of a group of zombies
            os.killpg(self.pid, signal.SIGKILL)
        self._popen.wait()
        _running.discard(self)

    def __enter__(self) -> Self:
        return self if self.is_running else self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.kill()


@atexit.register
def _kill_the_rest() -> None:
    for process in list(_running):
        process.kill()
