"""The `coatcheck` command."""

from coatcheck.client.command.entry import main

__all__ = ["main"]
