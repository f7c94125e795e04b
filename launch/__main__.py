"""`python -m coatcheck.launch`: the command behind `make run`."""

import argparse
import errno
import os
import signal
import socket
import sys
from contextlib import ExitStack
from pathlib import Path

from coatcheck.launch.console import Console
from coatcheck.launch.embedded_redis import embedded_redis
from coatcheck.launch.errors import InvalidLaunchSettings, LaunchError, PortForbidden, PortTaken
from coatcheck.launch.events import Events, StopRequested
from coatcheck.launch.lock import folder_lock
from coatcheck.launch.process_list import process_list, read_procfile
from coatcheck.launch.running_file import running_file
from coatcheck.launch.settings import LaunchSettings
from coatcheck.launch.supervisor import Supervisor, addresses
from coatcheck.settings_file import InvalidSettingsFile, add_settings_of_file


def main() -> int:
    """Run the platform until it is stopped. Return 0, or 1 after a message that says why it could not run."""
    parser = argparse.ArgumentParser(
        prog="python -m coatcheck.launch", description="Start the whole platform on this machine."
    )
    parser.add_argument("--procfile", type=Path, help="a process list, instead of web, worker and Flower")
    parser.add_argument("--reload", action="store_true", help="restart web and worker when Python files here change")
    arguments = parser.parse_args()
    events = Events()
    stop_on_signals(events)
    try:
        run(arguments.procfile, events, reloads=arguments.reload)
    except LaunchError as error:
        print(f"coatcheck: {error}", file=sys.stderr)  # noqa: T201
        return 1
    except OSError as error:  # a full disk, a limit of this account: whatever the system refuses on the way
        what = error.filename or "What the platform needs of this system"
        print(f"coatcheck: {what} cannot be used: {error.strerror or error}.", file=sys.stderr)  # noqa: T201
        return 1
    return 0


def run(procfile: Path | None, events: Events, *, reloads: bool) -> None:
    """Run the platform until it is asked to stop. Raises LaunchError."""
    try:
        add_settings_of_file(os.environ)
    except InvalidSettingsFile as fault:
        raise InvalidLaunchSettings([str(fault)]) from fault
    settings = LaunchSettings.from_environ(os.environ)
    processes = read_procfile(procfile) if procfile else process_list(reloads=reloads)
    with ExitStack() as stack:
        holder = f"pid {os.getpid()}, http://127.0.0.1:{settings.port}/mcp"
        lock_descriptor = stack.enter_context(folder_lock(settings.data_dir, holder))
        check_port_is_free("PORT", settings.port)
        check_port_is_free("FLOWER_PORT", settings.flower_port)
        redis = None if settings.redis_url else stack.enter_context(embedded_redis(settings.data_dir))
        redis_url = settings.redis_url or ("" if redis is None else redis.url)
        stack.enter_context(running_file(settings.data_dir, addresses(settings, redis_url)))
        Supervisor(settings, processes, redis, lock_descriptor, Console(), events).run()


def check_port_is_free(variable: str, port: int) -> None:
    """Check that the loopback port is free. Raises PortTaken or PortForbidden, which name the variable to change."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # Without this, connections of an earlier run that linger in TIME_WAIT would look like a taken port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise PortTaken(variable, port) from error
            if error.errno == errno.EACCES:
                raise PortForbidden(variable, port) from error
            raise


def stop_on_signals(events: Events) -> None:
    """Report SIGINT, SIGTERM and SIGHUP as StopRequested."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # `nohup` has hang-ups ignored, and means it.
        if number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN:
            continue
        signal.signal(number, lambda _number, _frame: events.put(StopRequested()))


if __name__ == "__main__":
    sys.exit(main())
