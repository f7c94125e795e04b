"""Errors that prevent the platform from starting or running, with messages for the terminal."""

from collections.abc import Sequence
from pathlib import Path

HIGHEST_PORT = 65535
"""The highest TCP port."""


class LaunchError(Exception):
    """The platform does not run; the message says why and what to do."""


class InvalidLaunchSettings(LaunchError):
    """Environment variables have invalid values; the message names every fault."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("\n".join(faults))


class PortTaken(LaunchError):
    """Another process listens on the port that a variable names."""

    def __init__(self, variable: str, port: int) -> None:
        super().__init__(
            f"Port {port} is taken by another process. Stop that process, or choose a free port:\n"
            f"  {variable}={port + 1 if port < HIGHEST_PORT else port - 1} make run"
        )


class PortForbidden(LaunchError):
    """This account has no right to listen on the port that a variable names."""

    def __init__(self, variable: str, port: int) -> None:
        super().__init__(f"This account may not listen on port {port}. Set {variable} to a port above 1023.")


class AlreadyRunning(LaunchError):
    """Another launcher runs on the same data folder."""

    def __init__(self, data_dir: Path, holder: str) -> None:
        super().__init__(
            f"Coatcheck is already running from this folder: {holder or 'it is just starting'}. "
            f"Both would write to {data_dir}. Stop the other one first, "
            "or give this one ports and a COATCHECK_DATA_DIR of its own."
        )


class DataDirUnusable(LaunchError):
    """The data folder cannot be created or written to."""

    def __init__(self, data_dir: Path, why: str) -> None:
        super().__init__(f"The data folder {data_dir} cannot be used: {why}. Set COATCHECK_DATA_DIR to another folder.")


class ProcfileUnusable(LaunchError):
    """The Procfile is missing or invalid."""

    def __init__(self, procfile: Path, why: str) -> None:
        super().__init__(f"{procfile} cannot be used: {why}. Name another with --procfile.")


class ProcessEnded(LaunchError):
    """A process ended although the platform was not asked to stop."""

    def __init__(self, name: str, returncode: int, last_words: str = "") -> None:
        how = f"was killed by signal {-returncode}" if returncode < 0 else f"ended with exit code {returncode}"
        super().__init__(f"{name} {how}, so everything was stopped. {last_words or 'Its lines above say more.'}")


class NotReady(LaunchError):
    """The platform was not ready for tool calls within the time limit."""

    def __init__(self, waited_s: float, why: str) -> None:
        super().__init__(f"Not ready after {waited_s:g} s, so everything was stopped: {why}")
