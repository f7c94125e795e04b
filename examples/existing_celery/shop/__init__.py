"""The back office of a shop."""
