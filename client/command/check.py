"""`coatcheck check`"""

import os

import click

from coatcheck.client.command.programs import hand_on
from coatcheck.client.running import running_here

EPILOG = """
\b
Examples, with the settings of the deployment in the environment:
  coatcheck check
  coatcheck check --release
"""


@click.command("check", epilog=EPILOG)
@click.option("--release", "is_release", is_flag=True, help="Leave out what only a running deployment has.")
def command(is_release: bool) -> None:
    """Try every part of a deployment from where it runs: settings, tools, Redis, broker, workers, address, Flower.

    Says what is wrong and how to mend it. Exit code 1 when anything is wrong; `coatcheck doctor` is for the other side,
    whoever calls a server. What `make run` runs from this folder is found by itself.
    """
    found = {name: value for name, value in running_here().items() if not os.environ.get(name)}
    if found:
        click.echo(f"{', '.join(found)}: as the platform has them that runs from this folder.", err=True)
    hand_on("coatcheck.web.operations.check", ["--release"] if is_release else [], found)
