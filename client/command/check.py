"""`coatcheck check`"""

import subprocess
import sys

import click

EPILOG = """
\b
Examples, with the settings of the deployment in the environment:
  coatcheck check
  coatcheck check --release
"""


@click.command("check", epilog=EPILOG, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(ctx: click.Context, arguments: tuple[str, ...]) -> None:
    """Try every part of a deployment from where it runs: settings, tools, Redis, broker, workers, address, Flower.

    Says what is wrong and how to mend it. --release leaves out what only a running deployment has. Exit code 1 when
    anything is wrong; `coatcheck doctor` is for the other side, whoever calls a server.
    """
    # As a program: this folder knows only the wire, and what a deployment is made of is the server's affair.
    ctx.exit(subprocess.run([sys.executable, "-m", "web.check", *arguments], check=False).returncode)
