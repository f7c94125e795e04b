"""What must not leak, and what must not be let in."""
