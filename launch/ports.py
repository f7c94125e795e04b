"""Check before the start that a port is free."""

import errno
import socket

from coatcheck.launch.errors import PortForbidden, PortTaken


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
