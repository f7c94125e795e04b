"""Configuration of gunicorn."""
# ruff: noqa: N999 - gunicorn looks for this name
# ruff: noqa: E402 - what is imported before the patch keeps the blocking sockets and locks that it found

from gevent import monkey

monkey.patch_all()

import gc
import resource
import socket
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from gunicorn.errors import HaltServer
from gunicorn.glogging import Logger

from coatcheck.web.errors import CANNOT_START, InvalidWebSettings
from coatcheck.web.server import loop_monitor
from coatcheck.web.server.worker import BoundedGeventWorker, BoundedRequest
from coatcheck.web.settings.auth import is_loopback
from coatcheck.web.settings.web import read_settings
from coatcheck.workers.telemetry.logs import write_as

RESERVED_FILES = 1024
"""Files that one process can open besides its clients' connections."""

try:
    all_settings = read_settings()
except InvalidWebSettings as fault:
    sys.exit(f"coatcheck cannot start:\n{fault}")
settings = all_settings.web

bind = [f"[{settings.host}]:{settings.port}" if ":" in settings.host else f"{settings.host}:{settings.port}"]

BoundedGeventWorker.head_s = settings.body_ms / 1000
BoundedGeventWorker.answer_s = settings.answer_ms / 1000
BoundedRequest.head_bytes = max(64 * 1024, 2 * settings.max_header_bytes)
worker_class = BoundedGeventWorker
"""A greenlet for each stream, waiting call and slow client; docs/architecture.md gives reasons and measurements."""
workers = settings.processes

timeout = 60
"""Seconds without a heartbeat of a process's event loop after which the process is replaced."""
graceful_timeout = 25
"""Seconds to finish requests that are in progress; platforms kill after 30."""
keepalive = 75
"""Seconds. Longer than the idle time of the usual routers, so that the router closes idle connections first."""

limit_request_line = 4094
limit_request_fields = 64
limit_request_field_size = settings.max_header_bytes

soft_limit, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
files = RESERVED_FILES + settings.connections
files = files if hard_limit == resource.RLIM_INFINITY else min(hard_limit, files)
resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft_limit, files), hard_limit))

worker_connections = max(files - RESERVED_FILES, files // 2)
"""Clients' connections to one process; a further one waits until another closes."""


class JsonLog(Logger):  # type: ignore[misc]  # gunicorn has no types
    """Writes one JSON object per line, as the application does."""

    def setup(self, cfg: Any) -> None:
        """Make the handlers that the options ask for write JSON."""
        super().setup(cfg)
        for log in (self.error_log, self.access_log):
            write_as("json", log)


logger_class = JsonLog if all_settings.workers.log_format == "json" else Logger
"""Write gunicorn's own lines in the format of the application's."""

control_socket_disable = True
"""Two servers of one account would compete for the same socket."""

worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108
"""A memory file system, because the heartbeat file must not wait for a disk."""


def end_in_words(kind: type[BaseException], fault: BaseException, trace: TracebackType | None) -> None:
    """Omit the traceback of HaltServer: gunicorn raises it again for each process that could not start."""
    if not isinstance(fault, HaltServer):
        sys.__excepthook__(kind, fault, trace)


sys.excepthook = end_in_words


def on_starting(server: Any) -> None:
    """Refuse options of the command line that contradict this file.

    With another worker class, clients that send or read slowly, or wait for a job, block all others.
    """
    if server.cfg.worker_class is not worker_class:
        sys.exit("coatcheck cannot start:\n--worker-class is chosen in web/gunicorn.conf.py; leave it out")


def post_fork(_server: Any, worker: Any) -> None:
    """Refuse to serve without authentication on an address that other machines can reach.

    The sockets are checked, not the options, because sockets can be inherited (from systemd or by `--bind fd://3`) or
    opened by each process (with `--reuse-port`). A unix socket is local, as a loopback address is.
    """
    if all_settings.auth.is_closed_to_strangers:
        return
    for listener in worker.sockets:
        address = listener.sock.getsockname()
        if listener.sock.family != socket.AF_UNIX and not is_loopback(address[0]):
            print(  # noqa: T201 - for the person who started it
                f"coatcheck cannot start:\n--bind, or an inherited socket: {address[0]} is not a loopback address,"
                " and COATCHECK_AUTH=none lets everybody in; set COATCHECK_ALLOW_ANONYMOUS=true if something else"
                " guards the door",
                file=sys.stderr,
            )
            sys.exit(CANNOT_START)


def post_worker_init(worker: Any) -> None:
    """Start the loop monitor, and exempt the objects made at import from garbage collection."""
    gc.collect()
    gc.freeze()
    loop_monitor.start_loop_monitor(worker.wsgi.extensions["coatcheck"].measures)


def worker_exit(_server: Any, worker: Any) -> None:
    """Close the connections to Redis and the broker, for whatever reason the process exits."""
    if (app := getattr(worker, "wsgi", None)) is not None:  # else it failed before it had one
        app.extensions["coatcheck"].close()
