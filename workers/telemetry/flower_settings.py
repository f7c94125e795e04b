"""Check the variables that Flower reads itself, for which a wrong value would end it with a traceback."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from environs import Env, EnvValidationError
from marshmallow import ValidationError

from coatcheck.tasks_store import fault_lines

NUMBERS: Final = ("INSPECT_TIMEOUT", "MAX_TASKS", "MAX_WORKERS", "PURGE_OFFLINE_WORKERS", "STATE_SAVE_INTERVAL")
SWITCHES: Final = ("AUTO_REFRESH", "DEBUG", "ENABLE_EVENTS", "NATURAL_TIME", "PERSISTENT", "READ_ONLY", "XHEADERS")
FILES: Final = ("CA_CERTS", "CERTFILE", "CONF", "KEYFILE")
HIGHEST_PORT: Final = 65_535


def flower_faults() -> str:
    """Return the faults of Flower's variables, one per line, each with its variable first."""
    env = Env(eager=False)
    env.str("FLOWER_PORT", "5555", validate=_check_port)
    for kind, names in ((env.float, NUMBERS), (env.bool, SWITCHES)):
        read: Callable[..., object] = kind
        for name in names:
            read(f"FLOWER_{name}", None)
    for name in FILES:
        env.str(f"FLOWER_{name}", "", validate=_check_file)
    try:
        env.seal()
    except EnvValidationError as fault:
        return fault_lines(fault)
    return ""


def _check_port(port: str) -> None:
    if port.startswith(("tcp://", "udp://")):
        raise ValidationError(
            "is the address that Kubernetes sets for a service of the name flower; set it to a port in the container,"
            " or `enableServiceLinks: false` in the pod"
        )
    if not (port.isascii() and port.isdecimal() and int(port) <= HIGHEST_PORT):
        raise ValidationError(f"must be a number from 0 to {HIGHEST_PORT}")


def _check_file(name: str) -> None:
    try:
        if name:
            Path(name).open("rb").close()
    except OSError as fault:
        raise ValidationError(f"must name a file that can be read: {fault.strerror}") from fault
