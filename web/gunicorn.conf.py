"""How gunicorn serves the front door."""
# ruff: noqa: N999 - gunicorn looks for this name

import resource
import signal
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from gunicorn.errors import HaltServer
from gunicorn.glogging import Logger

from web.auth.settings import LOOPBACK_HOSTS
from web.errors import InvalidSettings
from web.server.log import JsonLog
from web.server.patient_worker import PatientWorker
from web.settings import read_settings

FILES = 4096
"""How many files one process may have open besides its streams, where the system lets it choose: the usual 1024 are few
for connections."""

try:
    all_settings = read_settings()
except InvalidSettings as fault:
    sys.exit(f"coatcheck cannot start:\n{fault}")
settings = all_settings.web

bind = [f"[{settings.host}]:{settings.port}" if ":" in settings.host else f"{settings.host}:{settings.port}"]

PatientWorker.limit_s = settings.body_ms / 1000
PatientWorker.max_body_bytes = settings.max_body_bytes
worker_class = PatientWorker
"""A waiting call takes a thread; with the default worker it would take the whole process, and with gunicorn's threaded
one so would whoever sends slowly."""
workers = settings.processes
threads = settings.threads
"""More than the processor has use for, because synchronous calls wait in them; at most three quarters do at a time."""

timeout = 60
"""Seconds without a sign of life after which a process is replaced. Threads do not count, however long they wait."""
graceful_timeout = 25
"""Seconds to finish what is under way; platforms kill after 30."""
keepalive = 75
"""Longer than the idle time of the usual routers, so that the router closes idle connections, not we."""

limit_request_line = 4094
limit_request_fields = 64
limit_request_field_size = 8190

soft_limit, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
files = FILES + settings.streams
files = files if hard_limit == resource.RLIM_INFINITY else min(hard_limit, files)
resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft_limit, files), hard_limit))

worker_connections = min(1000, files // 2)
"""Connections of one process; each is a file, and so is each one to Redis. Streams are not among them: they leave
gunicorn when they begin (web/streams.py), so that a thousand of them cost one thread and 10 MB."""

max_requests = 0
"""No process is replaced for its age: its memory stays flat, and its streams and waiting calls would end with it."""

logger_class = JsonLog if all_settings.workers.log_format == "json" else Logger
"""gunicorn's own lines look like ours."""

control_socket_disable = True
"""Two servers of one account would fight for the same socket."""

worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108
"""The heartbeat file must not wait for a disk."""


def end_in_words(kind: type[BaseException], fault: BaseException, trace: TracebackType | None) -> None:
    """No traceback hides why a process could not start: gunicorn halts again for the second that could not."""
    if not isinstance(fault, HaltServer):
        sys.__excepthook__(kind, fault, trace)


sys.excepthook = end_in_words


def on_starting(server: Any) -> None:
    """Options of the command line that would undo what stands here are refused.

    Another class of worker would be wrong in ways that show late.

    Patched ones (gevent) stand still in every tool that computes, and patch after TLS and Redis were loaded; the others
    let whoever sends slowly, or waits for a job, shut everybody out.
    """
    if server.cfg.worker_class is not worker_class:
        sys.exit("coatcheck cannot start:\n--worker-class is chosen in web/gunicorn.conf.py; leave it out")
    if all_settings.auth.is_closed_to_strangers:
        return
    for address in server.cfg.address:
        if isinstance(address, tuple) and address[0] not in LOOPBACK_HOSTS:
            sys.exit(f"coatcheck cannot start:\n--bind {address[0]}: COATCHECK_AUTH=none lets everybody in")


def post_worker_init(worker: Any) -> None:
    """SIGTERM ends the streams at once, so that clients come back to another process while this one finishes."""
    connections = worker.wsgi.extensions["coatcheck"]
    exit_gracefully: Any = signal.getsignal(signal.SIGTERM)

    def end(number: int, frame: Any) -> None:
        connections.end_streams()
        exit_gracefully(number, frame)

    signal.signal(signal.SIGTERM, end)
    signal.siginterrupt(signal.SIGTERM, False)


def worker_exit(_server: Any, worker: Any) -> None:
    """A process that ends for whatever reason has ended its streams, and leaves no connection to Redis."""
    if (app := getattr(worker, "wsgi", None)) is not None:  # else it failed before it had one
        app.extensions["coatcheck"].close()
