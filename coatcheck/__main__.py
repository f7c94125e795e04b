"""`python -m coatcheck` is the `coatcheck` command."""

from coatcheck.client.command.group import main

main()
