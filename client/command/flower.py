"""`coatcheck flower`"""

import os

import click

from coatcheck.client.command.programs import HANDS_ON, become

EPILOG = """
\b
Examples:
  coatcheck flower
  coatcheck flower --url_prefix=flower
"""

DEFAULTS = {
    "address": "127.0.0.1",
    "max_tasks": "10000",
    "purge_offline_workers": "60",
    "tasks_columns": "name,uuid,state,result,kwargs,received,runtime,worker",
}
"""Options of Flower that differ from its own defaults, unless the variable of such an option is set."""


@click.command("flower", epilog=EPILOG, context_settings=HANDS_ON)
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF FLOWER]")
def command(options: tuple[str, ...]) -> None:
    """Show workers and runs in Flower, on FLOWER_PORT (5555)."""
    defaults = [f"--{name}={value}" for name, value in DEFAULTS.items() if not os.environ.get(f"FLOWER_{name.upper()}")]
    become("celery", ["-A", "coatcheck.workers", "flower", *defaults, *options], needs=("flower",), extra="flower")
