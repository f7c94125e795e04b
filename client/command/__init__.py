"""The `coatcheck` command."""

from coatcheck.client.command.group import main

__all__ = ["main"]
