"""`python -m coatcheck` is the `coatcheck` command."""

from coatcheck.client.command.entry import main

main()
