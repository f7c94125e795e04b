"""`coatcheck token`"""

import math

import click

from coatcheck.client.command.programs import hand_on

EXAMPLE = "  coatcheck token new ann --tenant acme --scope reports:read >> tokens.toml\n"

EPILOG = f"\b\nExample, for the file that COATCHECK_TOKENS_FILE names:\n{EXAMPLE}"

MOST_DAYS = 36_500
"""A century: a token that is good for longer is one that is good for ever."""


@click.group("token", epilog=EPILOG)
def command() -> None:
    """Make a bearer token for a server with COATCHECK_AUTH=tokens, and the entry by which it knows the token.

    See `coatcheck token new --help`.
    """


def _days(_ctx: click.Context, _parameter: click.Parameter, days: float | None) -> float | None:
    if days is not None and not (math.isfinite(days) and 0 < days <= MOST_DAYS):
        raise click.BadParameter(f"{days:g} is no number of days up to {MOST_DAYS}; leave it out for ever.")
    return days


@command.command("new", epilog=EPILOG)
@click.argument("principal")
@click.option("--tenant", default="", metavar="TENANT", help="The customer that the principal belongs to.")
@click.option("--scope", "scopes", multiple=True, metavar="SCOPE", help="What it allows; may be repeated.")
@click.option("--days", type=float, callback=_days, help="How long it is good for; for ever, unless given.")
def new(principal: str, tenant: str, scopes: tuple[str, ...], days: float | None) -> None:
    """Make a token for PRINCIPAL; a new token of the same principal finds the tasks of the old one.

    The token is shown once, on standard error; the entry goes to standard output.
    """
    arguments = [f"--tenant={tenant}", *(f"--scope={scope}" for scope in scopes)]
    if days is not None:
        arguments.append(f"--days={days!r}")
    hand_on("coatcheck.web.operations.tokens", ["new", *arguments, "--", principal])
