"""The `coatcheck` command."""

from client.command.group import main

__all__ = ["main"]
