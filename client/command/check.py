"""`coatcheck check`"""

import click

from client.command.handed_on import hand_on

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
    whoever calls a server.
    """
    hand_on("web.check", ["--release"] if is_release else [])
