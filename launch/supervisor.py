"""Start the processes of the platform, and stop them."""

import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from coatcheck.launch.child import Child
from coatcheck.launch.console import Console
from coatcheck.launch.embedded_redis import EmbeddedRedis
from coatcheck.launch.errors import NotReady, ProcessEnded
from coatcheck.launch.events import (
    ChildEnded,
    Events,
    PlatformNotReady,
    PlatformReady,
    RedisReady,
    StopRequested,
)
from coatcheck.launch.process_group_guard import ProcessGroupGuard
from coatcheck.launch.readiness import report_readiness
from coatcheck.launch.settings import LaunchSettings

STOP_WAIT_S = 7.0
"""Seconds for the processes to finish after SIGTERM. With REDIS_STOP_WAIT_S it leaves a second of the ten within which
Ctrl-C ends everything."""
REDIS_STOP_WAIT_S = 2.0
"""Seconds for the embedded Redis to close its file, after all others have ended."""
READY_WAIT_S = 60.0
"""Seconds for the platform to become ready for tool calls."""
REDIS_NAME = "redis"
"""The name of the embedded Redis in the output."""


class Supervisor:
    """Runs the embedded Redis, if there is one, and the processes of the Procfile: all of them, or none."""

    def __init__(
        self,
        settings: LaunchSettings,
        processes: Mapping[str, str],
        redis: EmbeddedRedis | None,
        lock_descriptor: int,
        console: Console,
        events: Events,
    ) -> None:
        self._settings = settings
        self._processes = processes
        self._redis = redis
        self._lock_descriptor = lock_descriptor
        self._console = console
        self._events = events
        self._stopped = threading.Event()
        self._redis_child: Child | None = None
        self._children: list[Child] = []

    def run(self) -> None:
        """Run everything until a stop is requested, then end all processes.

        Raises ProcessEnded when a process ends by itself, and NotReady, after all processes have ended.
        """
        with ProcessGroupGuard() as guard:
            try:
                self._start_redis(guard)
                self._follow_events(guard)
            finally:
                self._stop()

    def _follow_events(self, guard: ProcessGroupGuard) -> None:
        while True:
            match self._events.get():
                case RedisReady():
                    self._start_processes(guard)
                case PlatformReady():
                    self._console.write("ready")
                case PlatformNotReady(waited_s, why):
                    raise NotReady(waited_s, why)
                case ChildEnded(name, returncode):
                    raise ProcessEnded(name, returncode)
                case StopRequested():
                    self._console.write("stopping")
                    return

    def _start_redis(self, guard: ProcessGroupGuard) -> None:
        if self._redis is None:
            self._events.put(RedisReady())  # not ours to start; /readyz tells whether it answers
            return
        self._console.add_process(REDIS_NAME)
        self._redis_child = Child(
            REDIS_NAME, self._redis.command, os.environ, self._console, self._events, pass_fds=[self._lock_descriptor]
        )
        guard.add(self._redis_child.group)
        self._watch(partial(self._redis.report_answer, self._events, self._stopped))

    def _start_processes(self, guard: ProcessGroupGuard) -> None:
        redis_url = self._settings.redis_url if self._redis is None else self._redis.url
        environ = process_environ(self._settings, redis_url or "")
        for name in self._processes:
            self._console.add_process(name)
        for name, command in self._processes.items():
            # `exec`: the shell makes way, so that a signal reaches the process and not a shell in front of it.
            # `env`: a command can begin with variables of its own.
            child = Child(name, ["/bin/sh", "-c", f"exec env {command}"], environ, self._console, self._events)
            self._children.append(child)
            guard.add(child.group)
        self._console.write(
            f"MCP endpoint  http://127.0.0.1:{self._settings.port}/mcp\n"
            f"Flower        http://127.0.0.1:{self._settings.flower_port}\n"
            f"Redis         {without_password(redis_url or '')}"
        )
        self._watch(partial(report_readiness, self._settings.port, READY_WAIT_S, self._events, self._stopped))

    def _watch(self, report: Callable[[], None]) -> None:
        threading.Thread(target=report, daemon=True).start()

    def _stop(self) -> None:
        self._stopped.set()
        for child in self._children:
            child.terminate()
        _end_within(STOP_WAIT_S, self._children)
        # Redis last: the worker writes down its unfinished work while it stops.
        if self._redis_child is not None:
            self._redis_child.terminate()
            _end_within(REDIS_STOP_WAIT_S, [self._redis_child])


def process_environ(settings: LaunchSettings, redis_url: str) -> dict[str, str]:
    """Return the environment of every process: the launcher's own, with its choices made explicit."""
    return {
        **os.environ,
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
        # Their output is a pipe; without this, lines would arrive late and in blocks.
        "PYTHONUNBUFFERED": "1",
        # A platform on one machine is for developing tools, where whole exceptions help.
        "COATCHECK_LOG_EXCEPTIONS": os.environ.get("COATCHECK_LOG_EXCEPTIONS") or "whole",
        **addresses(settings, redis_url),
    }


def addresses(settings: LaunchSettings, redis_url: str) -> dict[str, str]:
    """Return the variables that hold addresses."""
    return {"PORT": str(settings.port), "FLOWER_PORT": str(settings.flower_port), "REDIS_URL": redis_url}


def without_password(url: str) -> str:
    """Return the URL without its user and password."""
    parts = urlsplit(url)
    if "@" not in parts.netloc:
        return url
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _end_within(seconds: float, children: list[Child]) -> None:
    deadline = time.monotonic() + seconds
    for child in children:
        if not child.ended_within(deadline - time.monotonic()):
            child.kill()
