"""`coatcheck init`"""

import click

from coatcheck.client.command.programs import become

EPILOG = """
\b
Examples:
  coatcheck init
  coatcheck init --dry-run
"""


@click.command("init", epilog=EPILOG)
@click.argument("folder", default=".")
@click.option("--dry-run", "is_dry", is_flag=True, help="Show what would be written, and write nothing.")
def command(folder: str, is_dry: bool) -> None:
    """Begin a project in FOLDER: settings, a first tool with a test, and the lines of a Procfile.

    What is there already stays as it is.
    """
    become("coatcheck.launch.init", [*(["--dry-run"] if is_dry else []), "--", folder])
