"""Where the process of the command begins."""

import sys
from importlib import import_module
from typing import Final

INTERRUPTED: Final = 130
"""The exit code, as of every program that is interrupted."""


def main() -> None:
    """Run the command. An interrupt ends it without a traceback, also while it loads its libraries."""
    try:
        import_module("coatcheck.client.command.group").main()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
