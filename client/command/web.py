"""`coatcheck web`"""

from pathlib import Path

import click

from coatcheck.client.command.programs import HANDS_ON, become

EPILOG = """
\b
Examples:
  coatcheck web
  coatcheck web --workers 4 --access-logfile -
"""

CONFIG = Path(__file__).parents[2] / "web" / "gunicorn.conf.py"


@click.command("web", epilog=EPILOG, context_settings=HANDS_ON)
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF GUNICORN]")
def command(options: tuple[str, ...]) -> None:
    """Serve the MCP endpoint with gunicorn, on PORT (8000)."""
    become("gunicorn", ["--config", str(CONFIG), *options, "coatcheck.web.wsgi:app"])
