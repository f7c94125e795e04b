"""`coatcheck token`"""

import subprocess
import sys

import click

EPILOG = """
\b
Example, for the file that COATCHECK_TOKENS_FILE names:
  coatcheck token new ann --tenant acme --scope reports:read >> tokens.toml
"""


@click.command("token", epilog=EPILOG, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def command(ctx: click.Context, arguments: tuple[str, ...]) -> None:
    """Make a bearer token for a server with COATCHECK_AUTH=tokens, and the entry by which it knows the token.

    The token is shown once, on standard error; the entry goes to standard output.
    """
    # As a program: this folder knows only the wire, and how a server keeps its tokens is the server's affair.
    ctx.exit(subprocess.run([sys.executable, "-m", "web.tokens", *arguments], check=False).returncode)
