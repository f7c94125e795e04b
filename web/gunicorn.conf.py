"""How gunicorn serves the front door."""
# ruff: noqa: N999 - gunicorn looks for this name

import sys
from pathlib import Path

from web.errors import InvalidSettings
from web.settings import read_settings

try:
    settings = read_settings().web
except InvalidSettings as fault:
    sys.exit(f"coatcheck cannot start:\n{fault}")

bind = [f"[{settings.host}]:{settings.port}" if ":" in settings.host else f"{settings.host}:{settings.port}"]

worker_class = "gthread"
"""A waiting call or a stream takes a thread, and with the default worker it would take the whole process."""
workers = settings.processes
threads = settings.threads

timeout = 60
"""Seconds without a sign of life after which a process is replaced. Threads do not count, however long they wait."""
graceful_timeout = 25
"""Seconds to finish what is under way; platforms kill after 30."""
keepalive = 75
"""Longer than the idle time of the usual routers, so that the router closes idle connections, not we."""

limit_request_line = 4094
limit_request_fields = 64
limit_request_field_size = 8190

control_socket_disable = True
"""Two servers of one account would fight for the same socket."""

worker_tmp_dir = "/dev/shm" if Path("/dev/shm").is_dir() else None  # noqa: S108
"""The heartbeat file must not wait for a disk."""
