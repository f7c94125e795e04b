"""`coatcheck expose`"""

import click

from coatcheck.client.command.programs import become

EPILOG = """
\b
Examples:
  coatcheck expose --app shop.celery:app
  coatcheck expose --app shop.celery:app --output expose.toml
  coatcheck expose --app shop.celery:app --check expose.toml
"""


@click.command("expose", epilog=EPILOG)
@click.option("--app", required=True, help="The application, as for `celery -A`.")
@click.option("--output", metavar="FILE", help="Write the file, which must not be there yet, instead of printing it.")
@click.option("--check", metavar="FILE", help="Compare a file with the application and its running workers.")
def command(app: str, output: str | None, check: str | None) -> None:
    """Describe the tasks of a Celery application as tools, for COATCHECK_EXPOSE.

    What cannot be derived from names, routes, signatures and docstrings is marked with `# fill in`.
    """
    given = [(name, value) for name, value in (("--output", output), ("--check", check)) if value is not None]
    become("coatcheck.workers.external.expose", [f"--app={app}", *(f"{name}={value}" for name, value in given)])
