"""`coatcheck stdio`"""

import sys
from collections.abc import AsyncIterator

import anyio
import anyio.to_thread
import click

from coatcheck.client.bridge.bridge import Bridge
from coatcheck.client.command.app import App
from coatcheck.client.command.options import with_server
from coatcheck.client.errors import leaf

EPILOG = """
\b
In the configuration of a host:
  {"mcpServers": {"coatcheck": {
     "command": "coatcheck",
     "args": ["stdio"],
     "env": {"COATCHECK_URL": "https://coatcheck.example.com/mcp"}}}}
"""


@click.command("stdio", epilog=EPILOG)
@with_server
def command(app: App) -> None:
    """Be an MCP server on standard input and output, for hosts that only start subprocesses.

    Every message goes on to the server, and comes back from it, as it is.
    """
    profile = app.settings.chosen
    try:
        anyio.run(Bridge(profile.url, profile.token, Writer()).run, _lines())
    except BaseExceptionGroup as group:
        # A host that no longer reads what it is told, most of all: as the error that it is.
        raise leaf(group) from None


async def _lines() -> AsyncIterator[bytes]:
    """What the host writes. A read that never returns does not keep the process."""
    while line := await anyio.to_thread.run_sync(sys.stdin.buffer.readline, abandon_on_cancel=True):
        yield line


class Writer:
    """Whole lines, one at a time, as fast as the host reads them."""

    def __init__(self) -> None:
        self._lock = anyio.Lock()

    async def __call__(self, line: bytes) -> None:
        """The host can read the line."""
        async with self._lock:
            await anyio.to_thread.run_sync(self._write, line)

    def _write(self, line: bytes) -> None:
        sys.stdout.buffer.write(line + b"\n")
        sys.stdout.buffer.flush()
