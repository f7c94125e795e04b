"""`coatcheck worker`"""

import click

from coatcheck.client.command.programs import HANDS_ON, become

EPILOG = """
\b
Examples:
  coatcheck worker
  coatcheck worker --concurrency 8 --queues coatcheck,reports
"""


@click.command("worker", epilog=EPILOG, context_settings=HANDS_ON)
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[OPTIONS OF CELERY WORKER]")
def command(options: tuple[str, ...]) -> None:
    """Run tools, as a Celery worker."""
    defaults = ["--loglevel", "INFO", "--without-mingle", "--without-gossip"]
    become("celery", ["-A", "coatcheck.workers", "worker", *defaults, *options])
