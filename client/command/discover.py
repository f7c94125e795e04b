"""`coatcheck discover`"""

import click

from coatcheck.client.command.app import App
from coatcheck.client.command.described import wire
from coatcheck.client.command.options import with_json, with_server
from coatcheck.client.models import TASKS, server_name
from coatcheck.client.terminal.text import one_line, safe


@click.command("discover", epilog="\b\nExample:\n  coatcheck discover --url https://coatcheck.example.com/mcp")
@with_json
@with_server
def command(app: App) -> None:
    """Show what a server says of itself."""
    found = app.client.discover()
    if app.output.is_json:
        app.output.object({"server": app.client.server, **wire(found)})
        return
    name = one_line(server_name(found)) or "unnamed"
    capabilities = wire(found.capabilities)
    extensions = capabilities.pop("extensions", {})
    app.output.lines(f"server      {name} at {app.client.server}")
    app.output.lines(f"speaks      {one_line(', '.join(found.supported_versions))}")
    app.output.lines(f"offers      {one_line(', '.join(capabilities)) or 'nothing'}")
    app.output.lines(f"extensions  {one_line(', '.join(extensions)) or 'none'}")
    app.output.lines(f"tasks       {'yes' if TASKS in extensions else 'no'}")
    if found.instructions:
        app.output.lines(f"\n{safe(found.instructions)}")
