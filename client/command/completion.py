"""`coatcheck completion`"""

import click
from click.shell_completion import get_completion_class

EPILOG = """
\b
Examples:
  eval "$(coatcheck completion bash)"     # in ~/.bashrc
  eval "$(coatcheck completion zsh)"      # in ~/.zshrc
  coatcheck completion fish > ~/.config/fish/completions/coatcheck.fish
"""


@click.command("completion", epilog=EPILOG)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the script that completes subcommands, options, tools and ticket ids in SHELL."""
    root = click.get_current_context().find_root().command
    completion = get_completion_class(shell)
    assert completion is not None
    click.echo(completion(root, {}, "coatcheck", "_COATCHECK_COMPLETE").source())
