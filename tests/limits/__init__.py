"""How much anybody may have at a time."""
