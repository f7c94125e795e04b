"""`python -m client` is the `coatcheck` command."""

from client.command.group import main

main()
