"""The older era, from outside: as its own clients meet it, and message by message."""
