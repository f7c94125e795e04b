"""The launcher's settings, read from the environment once."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from coatcheck.launch.errors import HIGHEST_PORT, InvalidLaunchSettings


@dataclass(frozen=True, slots=True)
class LaunchSettings:
    """The settings of the launcher. Other variables pass through to the processes that it starts."""

    port: int
    """`PORT`: the port of the MCP endpoint."""
    flower_port: int
    """`FLOWER_PORT`: the port of Flower."""
    redis_url: str | None
    """`REDIS_URL`: the Redis to use; None starts the embedded one."""
    data_dir: Path
    """`COATCHECK_DATA_DIR`: the folder of the embedded Redis's data; only one launcher can use it."""

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> "LaunchSettings":
        """Read the settings; an empty variable counts as unset.

        Raises InvalidSettings, which names every fault at once.
        """
        faults: list[str] = []
        port = _port(environ, "PORT", 8000, faults)
        flower_port = _port(environ, "FLOWER_PORT", 5555, faults)
        if not faults and port == flower_port:
            faults.append(f"PORT and FLOWER_PORT are both {port}; they must differ.")
        if faults:
            raise InvalidLaunchSettings(faults)
        return cls(
            port=port,
            flower_port=flower_port,
            redis_url=environ.get("REDIS_URL") or None,
            data_dir=Path(environ.get("COATCHECK_DATA_DIR") or ".data").absolute(),
        )


def _port(environ: Mapping[str, str], variable: str, default: int, faults: list[str]) -> int:
    text = environ.get(variable) or str(default)
    port = int(text) if text.isascii() and text.isdigit() else 0
    if not 1 <= port <= HIGHEST_PORT:
        faults.append(f"{variable} must be a number from 1 to {HIGHEST_PORT}; it is {text!r}.")
    return port
