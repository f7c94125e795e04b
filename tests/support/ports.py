"""Free ports, for servers that cannot live on a unix socket."""

import socket


def free_port(below: int = 65_536) -> int:
    """A port of the loopback interface that nobody listens on, lower than `below`."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if port < below:
            return port
